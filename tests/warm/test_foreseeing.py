"""What is known to go wrong with a cell before anything is imported: never what would go well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchkeeper.warm.expanding import cells_of
from torchkeeper.warm.foreseeing import problem_of
from torchkeeper.warm.recipe import checked


def code(folder: Path, **data: Any) -> str | None:
    [cell] = cells_of([checked(data, "mine", str(folder))])
    problem = problem_of(cell)
    return None if problem is None else problem.code


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def f(): ...", None),
        ("f = object()", None),
        ("class A:\n    f = 1\nglobals()['f'] = A", None),
        ("from other import *", None),
        ("def __getattr__(name): ...", None),
        ("import os as f", None),
        ("def broken(:", None),  # importing it says it better
        ("", "name-missing"),
        ("# f\n'f'\ng = 2 * 3", "name-missing"),
    ],
)
def test_a_name_that_stands_nowhere(tmp_path: Path, source: str, says: str | None) -> None:
    (tmp_path / "models.py").write_text(source)
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text(source)
    for name in ("models:f", "models.py:f", "package:f", "models:f.inner"):
        assert code(tmp_path, callable={"function": name}) == says


@pytest.mark.parametrize(
    ("source", "item", "says"),
    [
        ("callable", {"function": "nowhere_at_all:f"}, "module-missing"),
        ("callable", {"example": "nowhere.py:f"}, "module-missing"),
        ("callable", {"factory": "json.decoder:JSONDecoder"}, None),
        ("triton", {"kernel": "nowhere.py:f", "signature": {}}, "module-missing"),
        ("exported", {"file": "a.pt2"}, "exported-unreadable"),
        ("eager", {"op": "aten::add", "inputs": []}, None),
        ("script", {"command": ["a.py"]}, "script-missing"),
        ("script", {"command": ["python3", "a.py"]}, "script-missing"),
        ("script", {"command": ["-m", "whatever"]}, None),
        ("script", {"command": ["no-such-program"]}, "command-missing"),
        ("script", {"command": ["./no-such-program"]}, "command-missing"),
        ("script", {"command": ["true"], "folder": "none"}, "script-folder"),
        ("script", {"command": ["true"]}, None),
    ],
)
def test_what_is_not_there(tmp_path: Path, source: str, item: Any, says: str | None) -> None:
    assert code(tmp_path, **{source: item}) == says
