"""The part of Torchkeeper that travels: a zip of the packages from artifacts to engine.

A foreign interpreter gets only this zip on its path, never our site-packages, which would shadow
its torch.
"""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

import platformdirs

import torchkeeper
from torchkeeper.link.words import user_error
from torchkeeper.stores.appearing import appearing

PACKAGES = ("artifacts", "stores", "settings", "verdict", "warm", "doctor", "engine")


def cache_folder() -> str:
    """The app's own cache folder: nothing in it is missed if it goes."""
    try:
        return platformdirs.user_cache_dir("torchkeeper")
    except RuntimeError:
        # A user without a home folder, as in some containers.
        return os.path.join(tempfile.gettempdir(), f"torchkeeper-{os.getuid()}")


def _sources() -> list[tuple[str, bytes]]:
    root = Path(torchkeeper.__file__).resolve().parent
    found = [("torchkeeper/__init__.py", (root / "__init__.py").read_bytes())]
    for package in PACKAGES:
        found += [
            (f"torchkeeper/{file.relative_to(root).as_posix()}", file.read_bytes())
            for file in sorted((root / package).rglob("*.py"))
        ]
    return found


@functools.cache
def archive() -> Path:
    """The zip, made once per version of the code in the user's cache folder.

    Raises UserError("cache-unwritable").
    """
    import hashlib
    import zipfile

    sources = _sources()
    digest = hashlib.sha256()
    for name, data in sources:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    folder = Path(cache_folder())
    target = folder / f"engine-{digest.hexdigest()[:16]}.zip"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not target.exists():
            # It can be made again, but would not be where a power cut had left a part of it.
            with appearing(str(target), 0o600) as file, zipfile.ZipFile(file, "w") as made:
                for name, data in sources:
                    made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    except OSError as e:
        about = {"folder": str(folder), "why": e.strerror or str(e)}
        raise user_error("cache-unwritable", about) from e
    return target
