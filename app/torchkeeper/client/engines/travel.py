"""The packages that travel, as a zip for whatever interpreter."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
from pathlib import Path

from torchkeeper.artifacts.version import PACKAGE
from torchkeeper.client import temporary
from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import failing_as
from torchkeeper.stores import atomic

#: The packages that travel (``archive``).
PACKAGES = ("artifacts", "stores", "settings", "verdict", "warm", "doctor", "engine")
#: In the head of a compiled module: it goes by the hash of its source, which nobody compares (PEP
#: 552), as the source is beside it in the zip.
_UNCHECKED = (1).to_bytes(4, "little")


@functools.cache
def archive() -> Path:
    """A zip of the packages that travel, made once per version of the code. A foreign interpreter
    gets only this on its path, never our site-packages, which would shadow its torch. Beside each
    module is what our own Python compiled of it: compiling takes longer than all else that an
    engine starts with. Another version of Python passes that over (zipimport). Raises
    UserError("cache-unwritable").
    """
    import hashlib
    import importlib.util
    import marshal
    import zipfile

    root = Path(PACKAGE).resolve()
    found = (file for package in PACKAGES for file in sorted((root / package).rglob("*.py")))
    files = [root / "__init__.py", *found]
    sources = [(f"torchkeeper/{x.relative_to(root).as_posix()}", x.read_bytes()) for x in files]
    magic = importlib.util.MAGIC_NUMBER
    digest = hashlib.sha256(magic)
    for name, data in sources:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    folder = Path(whole.cache_folder())
    target = folder / f"engine-{digest.hexdigest()[:16]}.zip"
    with failing_as("cache-unwritable", folder=str(folder)):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_ours(folder):
            private = temporary.make("code")
            atexit.register(shutil.rmtree, private, ignore_errors=True)
            target = Path(private) / target.name
        if not (target.is_file() and _is_ours(target)):
            # It can be made again, but would not be where a power cut had left a part of it.
            with (
                atomic.atomic_write(str(target), 0o600) as file,
                zipfile.ZipFile(file, "w") as made,
            ):
                for name, data in sources:
                    # As a .pyc, made in memory: a program's end leaves no file. It says no path of
                    # this machine: it goes to others.
                    code = compile(data, name, "exec", dont_inherit=True, optimize=0)
                    head = magic + _UNCHECKED + importlib.util.source_hash(data)
                    for end, what in (("", data), ("c", head + marshal.dumps(code))):
                        made.writestr(zipfile.ZipInfo(name + end, (1980, 1, 1, 0, 0, 0)), what)
    return target


def _is_ours(path: Path) -> bool:
    """Whether nobody else can write to a file or folder: what lies there is run."""
    status = path.stat()
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022
