"""What is known to go wrong with a variant before anything is imported: never what would go
well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchkeeper.warm.recipes.foreseeing import foreseen, problem_of
from torchkeeper.warm.recipes.recipe import checked, variants_of


def code(folder: Path, **data: Any) -> str | None:
    [variant] = variants_of([checked(data, "mine", str(folder))])
    problem = problem_of(variant)
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
        ("locals()['other'] = 1", None),
        ("import sys\nsys.modules[__name__].__dict__.update(g=1)", None),
        ("import dyn\ndyn.install(__name__)", None),
        ("g = 1\nNAMES = ['f']", None),
        ("import logging\nlog = logging.getLogger(__name__)", "name-missing"),
        ("def g(): ...\nif __name__ == '__main__':\n    g()", "name-missing"),
        ("def broken(:", None),  # importing it says it better
        ("", "name-missing"),
        ("# f\n'g'\ng = 2 * 3", "name-missing"),
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


def test_what_is_not_certain_is_not_said(tmp_path: Path) -> None:
    (tmp_path / "built.cpython-311-x86_64-linux-gnu.so").touch()
    assert code(tmp_path, callable={"function": "built:f"}) is None
    (tmp_path / "json.py").write_text("g = 1")
    assert code(tmp_path, callable={"function": "json:dumps"}) is None, "Python's own comes first"
    (tmp_path / "package").mkdir()
    for name in ("__init__", "inner", "other"):
        (tmp_path / f"package/{name}.py").write_text("g = 1\n")
    for name, says in (("inner", None), ("nothing", "name-missing")):
        assert code(tmp_path, callable={"function": f"package:{name}.f"}) == says
    assert code(tmp_path, callable={"function": "package.other:f"}) == "name-missing"
    (tmp_path / "package/__init__.py").write_text("from . import other\nother.f = print\n")
    assert code(tmp_path, callable={"function": "package.other:f"}) is None


def test_the_environment_of_the_recipe_counts(tmp_path: Path) -> None:
    elsewhere = {"callable": {"function": "nowhere_at_all:f"}}
    assert code(tmp_path, **elsewhere, environment={"OTHER": "1"}) == "module-missing"
    assert code(tmp_path, **elsewhere, environment={"PYTHONPATH": "ext"}) is None
    (tmp_path / "my-tool").touch(0o755)
    own = {"script": {"command": ["my-tool"]}}
    assert code(tmp_path, **own) == "command-missing"
    for path in (str(tmp_path), ".", f"{tmp_path}:"):
        assert code(tmp_path, **own, environment={"PATH": path}) is None
    assert code(tmp_path, **own, environment={"PATH": "/none"}) == "command-missing"


def test_a_script_may_write_what_comes_later(tmp_path: Path) -> None:
    (tmp_path / "export.py").touch()
    for command, says in (("export.py", [None, None]),
                          ("none.py", ["script-missing", "exported-unreadable"])):  # fmt: skip
        data = ({"script": {"command": [command]}}, {"exported": {"file": "a.pt2"}})
        variants = variants_of([checked(one, "mine", str(tmp_path)) for one in data])
        assert [one and one.code for one in foreseen(variants)] == says


def test_names_that_are_like_it(tmp_path: Path) -> None:
    for source, near in (("def decode(): ...", "decode"), ("def g(): ...", "—")):
        (tmp_path / "models.py").write_text(source)
        data = {"callable": {"function": "models.py:decoed"}}
        [variant] = variants_of([checked(data, "mine", str(tmp_path))])
        problem = problem_of(variant)
        assert problem
        assert problem.params["near"] == near
