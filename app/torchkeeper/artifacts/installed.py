"""Packages that are installed beside Torchkeeper, from where it starts without them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType


def installed(package: str) -> ModuleType | None:
    """A package, or None: another's interpreter may not have it."""
    if sys.flags.no_site:
        # Our own engine starts without site-packages, because looking at a folder needs none of
        # them and their start-up files take time (client/engines/process.py).
        import site

        site.main()
    try:
        return importlib.import_module(package)
    except ImportError:
        return None
