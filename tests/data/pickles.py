"""Pickles of objects whose classes need not exist here, as torch would write them."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any
from unittest.mock import patch


def made(module: str, name: str, fields: dict[str, Any]) -> Any:
    """An object of a class of that name, with these attributes."""
    one = type(name, (), {"__module__": module})()
    one.__dict__.update(fields)
    return one


def pickled(*objects: Any) -> bytes:
    """The last of some objects, the others of which are in it."""
    modules: dict[str, types.ModuleType] = {"torch": types.ModuleType("torch")}
    for one in objects:
        named = type(one).__module__
        module = modules.setdefault(named, types.ModuleType(named))
        setattr(module, type(one).__name__, type(one))
    with patch.dict(sys.modules, modules):
        return pickle.dumps(objects[-1], 4)
