"""Another machine: a real sshd on this one, with keys, a configuration and a home of its own."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.conftest import forks, tk
from tests.pace import LONG
from tests.ssh import breaking
from torchkeeper.client.engines import line

__all__ = ["forks", "tk"]

#: A kernel that is compiled at once, and what a recipe says of one in a module.
KERNELS = """import triton
import triton.language as tl

@triton.jit
def add(x, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at, tl.load(x + at, at < n) + 1, at < n)
"""
ITEM = """[[triton]]
kernel = "{}.py:add"
signature = {{ x = "*fp32", n = "i32" }}
constants = {{ B = 64 }}
targets = ["{}"]
"""
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@dataclass
class Machine:
    """One that is reached as ``there``. folder: all that it is made of."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    #: What an account runs before the command that is asked for.
    rc: Path = field(init=False)

    def __post_init__(self) -> None:
        self.rc = self.home / ".rc"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def bin(self) -> Path:
        """First on the PATH there."""
        return self.folder / "bin"

    @property
    def config(self) -> Path:
        """What the user's ssh reads."""
        return self.folder / "config"

    @property
    def known(self) -> Path:
        return self.folder / "known_hosts"

    def place(self, path: str | Path = "") -> str:
        """The name of a path: absolute, or below the home."""
        return f"ssh://there/{'' if str(path).startswith('/') else '~/'}{path}".replace("e//", "e/")

    def sessions(self) -> int:
        """How many were begun."""
        return (self.folder / "sessions").read_text().count("\n")


def keygen(file: Path) -> str:
    """A new key; its public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
    return file.with_suffix(".pub").read_text()


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("there is no OpenSSH server here")
    with started(tmp_path_factory.mktemp("there")) as made:
        yield made


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Machine]:
    """A machine that is made of a folder, while that is needed."""
    assert SSHD
    for name in ("home", "bin", "tmp"):
        (folder / name).mkdir()
    host, user = keygen(folder / "host"), keygen(folder / "user")
    (folder / "authorized_keys").write_text(user)
    (folder / "bin/python3").symlink_to(sys.executable)
    (folder / "session").write_text(
        f"""#!/bin/bash
echo x >> {folder}/sessions
export HOME={folder}/home PATH={folder}/bin:$PATH TMPDIR={folder}/tmp
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME TORCHINDUCTOR_CACHE_DIR
cd "$HOME"
[ -e .rc ] && . ./.rc
eval "$SSH_ORIGINAL_COMMAND"
"""
    )
    (folder / "session").chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"""Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxSessions 1
MaxStartups 200
SetEnv HOME={folder}/home
ForceCommand {folder}/session
"""
    )
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    log = (folder / "log").open("wb")
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=log)
    made = Machine(folder, port, process)
    _known = f"[127.0.0.1]:{port} {host}"
    made.known.write_text(_known)
    listens(process, port)
    programs(made, folder / "ours")
    try:
        yield made
    finally:
        process.terminate()
        process.wait()
        log.close()


def listens(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a process takes connections."""
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None
        time.sleep(0.02)


@pytest.fixture
def there(sshd: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """The machine, with an empty home; the ssh of this test knows it as ``there``."""
    shutil.rmtree(sshd.home)
    sshd.home.mkdir()
    (sshd.folder / "sessions").write_text("")
    config(sshd)
    monkeypatch.setenv("PATH", f"{sshd.folder}/ours:{os.environ['PATH']}")
    yield sshd
    line.close_all()
    assert not list((sshd.folder / "tmp").glob("torchkeeper-far-*")), "nothing is left there"


@pytest.fixture
def orders(there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What becomes of each connection (``breaking``); temporary files here are of this test."""
    file = tmp_path / "line" / "orders"
    file.parent.mkdir()
    breaking.order(file)
    proxy = [sys.executable, breaking.__file__, str(there.port), str(file)]
    config(there, ProxyCommand=" ".join(f"'{one}'" for one in proxy))
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield file
    line.close_all()
    breaking.order(file, "end")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """One that is compiled at once."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "add.toml").write_text(ITEM.format("kernels", "cuda:90"))
    return folder / "add.toml"


def ended(there: Machine) -> None:
    """Wait until what ran there has ended."""
    until = time.monotonic() + LONG
    while time.monotonic() < until and list((there.folder / "tmp").glob("torchkeeper-far-*")):
        time.sleep(0.02)


def programs(there: Machine, folder: Path) -> Path:
    """Put OpenSSH's programs into a folder, as a user has them who has the machine's configuration;
    that folder.
    """
    folder.mkdir()
    for name in ("ssh", "scp"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {shutil.which(name)} -F {there.config} "$@"\n')
        program.chmod(0o755)
    return folder


def config(there: Machine, **options: object) -> None:
    """Write the user's configuration anew, with these options besides or instead."""
    every = {
        "HostName": "127.0.0.1",
        "Port": there.port,
        "User": getpass.getuser(),
        "IdentityFile": there.folder / "user",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "UserKnownHostsFile": there.known,
        "GlobalKnownHostsFile": "/dev/null",
        **options,
    }
    lines = [f"  {name} {value}\n" for name, value in every.items()]
    there.config.write_text("Host there\n" + "".join(lines))
