"""What ssh is started with, and what that runs on another machine: its python3, which takes the
packages that travel from where an earlier connection has kept them, or asks for them.

What is kept lies in the user's cache folder there, in a folder that nobody else can open, under the
hash of its contents. It is read whole and compared with that before anything of it runs, and it
runs from memory: what is damaged, or was put there by somebody, is as good as missing.
"""

from __future__ import annotations

from torchkeeper.engine import mux
from torchkeeper.stores.ssh import Address

#: What the machine says, after its token, where it has no copy; and where its Python is too old.
WANT, OLD = b"want", b"old "
#: In how many times the longest silence what travels has to be there.
_LONGEST = 10
#: What stands for the end of a line of it.
_END = "@"
#: For a Python of any age, up to where it is told whether it is too old. It is sent as one line and
#: in single quotes, for any shell: nothing in it is a single quote, a backslash, “!” or _END. What
#: it reads is how long the zip is, compressed, and the zip, which it has in memory where it can.
_BOOT = """
import os, sys
if sys.version_info[:2] < (3, 10):
    os.write(1, ("{token}old " + sys.version.split()[0] + "{token}").encode())
    sys.exit(9)
import gc, hashlib, signal, stat, tempfile, zlib
gc.set_threshold(2_000_000, 10, 10)
flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
def folder():
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    if base[0] == "~":
        raise OSError
    os.makedirs(base, 0o700, exist_ok=True)
    at = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name, others in (("torchkeeper", 0o22), ("far", 0o77)):
        if name not in os.listdir(at):
            os.mkdir(name, 0o700, dir_fd=at)
        at = os.open(name, flags | os.O_DIRECTORY, dir_fd=at)
        found = os.fstat(at)
        if found.st_uid ^ os.geteuid() or found.st_mode & others:
            raise OSError
    return at
at, data = None, b""
try:
    at = folder()
    with open(os.open("{digest}.zip", flags, dir_fd=at), "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            data = file.read({size} + 1)
except Exception:
    pass
there = hashlib.sha256(data).hexdigest() == "{digest}"
if not there:
    os.write(1, (chr(10) + "{token}want" + chr(10)).encode())
    came = open(0, "rb", closefd=False)
    signal.alarm({longest})
    data = zlib.decompress(came.read(int(came.read(8), 16)))
    signal.alarm(0)
memory = hasattr(os, "memfd_create")
file = os.fdopen(os.memfd_create("torchkeeper"), "wb") if memory else tempfile.NamedTemporaryFile()
file.write(data)
file.flush()
path = "/proc/%d/fd/%d" % (os.getpid(), file.fileno()) if memory else file.name
sys.path.insert(0, path)
from torchkeeper.engine.far_end import main
main("{token}", at, "" if there or at is None else "{digest}.zip", data, silence={silence})
"""


def command(address: Address, token: str, digest: str, size: int, asks: bool = False) -> list[str]:
    """ssh, and what it is to run there. token: what the machine says before each word of its own;
    digest, size: the SHA-256 of what travels, and its bytes; asks: whether ssh may ask somebody.
    """
    boot = _BOOT
    said = {"token": token, "digest": digest, "size": size, "silence": mux.SILENCE}
    for name, value in {**said, "longest": round(_LONGEST * mux.SILENCE)}.items():
        boot = boot.replace(f"{{{name}}}", str(value))
    line = f'exec("""{boot.replace(chr(10), _END)}""".replace("{_END}",chr(10)))'
    does = f"exec python3 -I -S -c '{line}'"
    return address.command(does) if asks else address.command(does, "BatchMode=yes")
