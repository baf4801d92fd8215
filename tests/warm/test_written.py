"""What PyTorch rewrites where it stands is there whole, or as it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from torchkeeper.warm.sources.eager import whole

#: As PyTorch changes its list (aoti_compile_with_persistent_cache); then one half is there.
_CHANGES = """
def change(path, new, half=lambda: None):
    items = []
    with open(path, "r" if os.path.exists(path) else "w") as file:
        try:
            items = json.load(file)
        except Exception:
            items = []
    items.append(new)
    with open(path, "w") as file:
        file.write("[")
        half()
        file.seek(0)
        json.dump(items, file)
"""
_KILLED = f"""
import os, json, signal, sys, types
from torchkeeper.warm.sources.eager import whole
module = types.ModuleType("lists")
exec({_CHANGES!r}, module.__dict__)
module.os, module.json = os, json
with whole(module):
    module.change(sys.argv[1], 3, lambda: os.kill(os.getpid(), signal.SIGKILL))
"""


def module() -> ModuleType:
    made = ModuleType("lists")
    exec(f"import json, os\n{_CHANGES}", made.__dict__)
    return made


def test_it_is_written_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path, lists = tmp_path / "sin.json", module()
    with whole(lists):
        lists.change(path, 1)
        lists.change(path, 2)
    assert json.loads(path.read_text()) == [1, 2]
    assert not hasattr(lists, "open")
    with whole(lists), pytest.raises(ZeroDivisionError):
        lists.change(path, 3, lambda: 1 / 0)
    assert json.loads(path.read_text()) == [1, 2]
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_is_killed_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "sin.json"
    for before in (None, "[1, 2]"):
        if before is not None:
            path.write_text(before)
        done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert (path.read_text() if path.exists() else None) == before
        assert list(tmp_path.iterdir()) == [path] * (before is not None)
