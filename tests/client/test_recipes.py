"""Recipes as files: faults at their lines, folders, the list; and TOML written and read again."""

from __future__ import annotations

import ast
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchkeeper
from torchkeeper.client import programs
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.recipes import offered
from torchkeeper.client.recipes.toml import Lines, text_of
from torchkeeper.client.words.problems import EXPECTED, UserError, expectation, user_error

GOOD = '[callable]\nfunction = "m:f"\n'


def told(text: str) -> list[tuple[int, int, str]]:
    return [(one.line, one.column, one.where) for one in recipes.looked_at(text)[1]]


def refused(call: Any, *args: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        call(*args)
    return caught.value


TRICKY = '''# a recipe
name = "all sorts"
about = """
three
lines""""

[[callable]]
function = "m:f"
inputs = [  # [ not a list
    { shape = [
        8, "btach"], fill = 'ones' },
    "]}#\\"", 1979-05-27 07:32:00,
    { "shpe" = [3] },
]
keywords.mask.shape = [ "x" ]
keywords."a key".shape = 3

[[callable]]
factory = """
m"""

[matrix]
batch = [
  1,

  true, # here
]
"dtype" = [ "float32", "float23" ]
[compile.options]
a.b = [1]
[limits]
seconds = -1.5e3'''


def test_each_fault_is_told_with_its_line_and_column() -> None:
    assert told(TRICKY) == [
        (3, 9, "about"),
        (11, 12, "callable[0].inputs[0].shape[1]"),
        (12, 14, "callable[0].inputs[2]"),
        (13, 7, "callable[0].inputs[3].shpe"),
        (15, 25, "callable[0].keywords.mask.shape[0]"),
        (16, 10, 'callable[0].keywords."a key"'),
        (16, 26, 'callable[0].keywords."a key".shape'),
        (19, 11, "callable[1].factory"),
        (26, 3, "matrix.batch[1]"),
        (28, 24, "matrix.dtype[1]"),
        (30, 7, "compile.options.a.b"),
        (32, 11, "limits.seconds"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("name = x", 1, 8), ("a = 1\nb = [1,\n", 2, 8), ("[callable\n", 1, 10),
        ("a = 1\na = 2", 2, 6),
        ('name = "a', 1, 10), ("\n\n= 1", 3, 1),
    ],
)  # fmt: skip
def test_what_is_not_toml_is_told_with_line_and_column(
    text: str, line: int, column: int, tmp_path: Path
) -> None:
    data, [fault] = recipes.looked_at(text)
    assert (data, fault.line, fault.column, fault.where) == (None, line, column, "")
    file = tmp_path / "a.toml"
    file.write_text(text)
    error = refused(recipes.read, str(file))
    assert error.code == "recipe-syntax"
    assert f"{file}, line {line}, column {column}" in error.what


def test_toml_that_is_too_deep_is_a_fault() -> None:
    assert told("a = " + "[" * 50_000) == [(1, 1, "")]
    for deep in ("a." * 50_000 + "a = 1", "[" + '"a" . ' * 9_000 + "a]", "a = {" + "'x'." * 99):
        assert told(f"\n{deep}") == [(2, 1, "")]
    assert told('about = "' + "x" * 200_000 + ".\"\n[callable]\nfunction = 'm:f'") == [
        (1, 9, "about")
    ]
    # Deep enough for tomllib, too deep for a recipe.
    assert told("[callable]\nfunction = 'm:f'\nargs.a = " + "[" * 60 + "]" * 60)[0][0] == 3


def test_faults_of_an_item_have_its_lines() -> None:
    own = GOOD + "compile.backward = true\ncompile.options.a = []\ncalls = [\n  {},\n"
    own += "  { inputs = [{ shape = [-1] }], grad = false },\n]\n"
    assert told(own + "[compile]\ngrad = false\n") == [
        (3, 9, "callable.compile.backward"),
        (4, 21, "callable.compile.options.a"),
        (7, 26, "callable.calls[1].inputs[0].shape[0]"),
        (7, 34, "callable.calls[1].grad"),
    ]
    tables = f"[{GOOD[:10]}]{GOOD[10:]}[[callable.calls]]\n[[callable.calls]]\nkeyword = 1\n"
    assert told(tables) == [(5, 1, "callable[0].calls[1].keyword")]
    assert told(f"{tables.replace('keyword', 'inputs')}[callable.compile]\nthreads = 1") == [
        (5, 10, "callable[0].calls[1].inputs"),
        (7, 1, "callable[0].compile.threads"),
    ]


@pytest.mark.parametrize(
    "wrong", ["gpu1", "", "ssh://gpu1/srv", "ssh://-oProxyCommand=x", "ssh://a\\nb", "redis://a",
              "SSH://gpu1", "ssh://" + "a" * 500],
)  # fmt: skip
def test_a_machine_is_one_that_ssh_takes_and_a_recipe_names_it_plainly(wrong: str) -> None:
    for good in ("ssh://gpu1", "ssh://me@gpu1.example:2222", "ssh://[::1]:22"):
        assert told(f'machine = "{good}"\n{GOOD}') == []
    assert told(f'machine = "{wrong}"\n{GOOD}') == [(1, 11, "machine")]
    assert told(f"machine = [3]\n{GOOD}") == [(1, 11, "machine")]


def test_what_no_recipe_can_hold_is_not_written(tmp_path: Path) -> None:
    """Another machine tells the command of a program that somebody else began there."""
    words, file = ["serve", *["x" * 1000] * 300], str(tmp_path / "r.toml")
    ran = programs.Ended(None, "", words, "ssh://there/cache", "/home", {}, ())
    assert refused(programs.save_recipe, file, ran).code == "recipe-too-large"
    assert not Path(file).exists()
    assert programs.save_recipe(file, ran._replace(words=words[:9])) == file
    assert recipes.read(file).data["machine"] == "ssh://there"


def test_a_message_names_file_line_what_was_expected_and_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(GOOD + "[compile]\nmode = 'max-autotone'\n")
    error = refused(recipes.read, str(file))
    assert error.what == f"{file}, line 4, is wrong."
    assert error.why == (
        "compile.mode: expected one of default, reduce-overhead, max-autotune, "
        "max-autotune-no-cudagraphs, found \"max-autotone\"; did you mean “max-autotune”?"
    )  # fmt: skip
    assert error.remedy
    file.write_text("[callable]\nfuntion = 1\n" + "".join(f"x{n} = 1\n" for n in range(10)))
    error = refused(recipes.read, str(file))
    assert error.what == f"{file} has 12 faults."
    assert "line 2: callable.funtion: there is no such key; did you mean “function”?" in error.why
    assert error.why.endswith("and 4 more")


def test_what_the_engine_refuses_is_said_in_the_same_words() -> None:
    error = user_error("recipe-wrong", {"recipe": "a", "where": "matrix.b[1]", "expected": "whole",
                                        "found": "true", "least": 0, "most": 9})  # fmt: skip
    assert error.why == "There: expected a whole number from 0 to 9, found true."
    _, [fault] = recipes.looked_at("[eager]\nop = 'aten::add'\n")
    assert fault.text == "“inputs” is missing, which an eager operator cannot do without."
    _, found = recipes.looked_at("[triton]\n[eager]\nop = 'aten::add'\ninputs = []")
    assert (found[-1].line, found[-1].where) == (2, "eager")  # the second, as it is written


def test_every_expectation_has_words_and_no_words_are_idle() -> None:
    """Codes are the second argument of ``add``, or the last of what takes them from its caller."""
    codes = set()
    for path in (Path(torchkeeper.__file__).parent / "warm" / "recipes").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                at = {"add": 1, "one_of": 3, "matching": 3}.get(node.func.attr, 99)
                for value in ast.walk(node.args[at]) if len(node.args) > at else ():
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        codes.add(value.value)
    named = {"size-unused", "axis-unused", "not-for-source", "dynamic-eager"}
    assert codes | named == set(EXPECTED)
    for code in EXPECTED:
        assert expectation(code, "", {}).endswith((".", "?"))


def test_a_file_that_cannot_be_a_recipe(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    assert refused(recipes.read, str(file)).code == "recipe-unreadable"
    assert refused(recipes.read, str(tmp_path)).code == "recipe-unreadable"
    file.write_bytes(b"# fine\n# \xff")
    error = refused(recipes.read, str(file))
    assert (error.code, error.why) == ("recipe-unreadable", "Line 2 is not UTF-8.")
    file.write_bytes(b"#" * (offered.MOST_BYTES + 1))
    assert refused(recipes.read, str(file)).code == "recipe-too-large"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert recipes.read(str(file)).name == "a"


def test_folders_are_searched_for_recipes_and_nothing_else(tmp_path: Path) -> None:
    for name in ("b.toml", "a.toml", "deep/er/c.toml", ".hid.toml", ".git/d.toml",
                 "pyproject.toml", "venv/pyvenv.cfg", "venv/e.toml", "notes.txt"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(GOOD)
    (tmp_path / "again").symlink_to(tmp_path)
    found = [Path(path).relative_to(tmp_path).as_posix() for path in recipes.files(str(tmp_path))]
    assert found == ["a.toml", "b.toml", "deep/er/c.toml"]
    names = [str(tmp_path), str(tmp_path / "a.toml"), "builtin", "builtin"]
    assert [one if isinstance(one, str) else (one["name"], one["folder"])
            for one in recipes.wire(names)] == [
        ("a", str(tmp_path)), ("b", str(tmp_path)), ("c", str(tmp_path / "deep/er")), "builtin",
    ]  # fmt: skip
    assert recipes.wire([]) == ["builtin"]
    for name in ("bultin", ""):
        assert refused(recipes.wire, [name]).code == "recipe-unknown"
    assert refused(recipes.wire, [str(tmp_path / "venv")]).code == "recipes-none"


def test_recipes_that_fit_no_line_are_refused(tmp_path: Path) -> None:
    inputs = ", ".join(f'"{"x" * 3900}"' for _ in range(60))
    for n in range(5):
        (tmp_path / f"{n}.toml").write_text(f"{GOOD}inputs = [{inputs}]")
    assert refused(recipes.wire, [str(tmp_path)]).code == "recipes-too-large"


def test_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "a.toml"
    file.write_text("not yet a recipe")
    assert recipes.listed() == []
    assert recipes.add(str(file)) == recipes.add(str(file)) == [str(file)]
    assert recipes.add(str(tmp_path)) == recipes.listed() == [str(file), str(tmp_path)]
    assert refused(recipes.add, str(tmp_path / "none.toml")).code == "recipe-unknown"
    assert recipes.remove(str(file)) == [str(tmp_path)]
    assert refused(recipes.remove, str(file)).code == "recipe-not-listed"
    (tmp_path / "config/torchkeeper/recipes.json").write_text("[1]")
    assert refused(recipes.listed).code == "recipes-unreadable"


_TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
_PLAIN = st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS
_DEEP = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=12,
)
_DATA = st.dictionaries(
    _TEXTS, _DEEP | st.lists(st.dictionaries(_TEXTS, _DEEP, max_size=3), max_size=3), max_size=5
)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(_DATA)
def test_what_is_written_is_read_again_and_every_value_has_its_line(data: dict[str, Any]) -> None:
    text = text_of(data, "made here\nby hand")
    assert tomllib.loads(text) == data
    lines = Lines(text)
    rows = text.split("\n")
    _places(lines, rows, data, ())


def _places(lines: Lines, rows: list[str], value: Any, where: tuple[str | int, ...]) -> None:
    if where and isinstance(value, (bool, int, float, str)):
        line, column = lines.of(where)
        assert tomllib.loads("x = " + _rest(rows[line - 1][column - 1 :], value))["x"] == value
    for at, one in value.items() if isinstance(value, dict) else ():
        _places(lines, rows, one, (*where, at))
    for at, one in enumerate(value) if isinstance(value, list) else ():
        _places(lines, rows, one, (*where, at))


def _rest(text: str, value: Any) -> str:
    """What stands at a value's place, without what follows it."""
    written = text_of({"x": value})[len("x = ") : -1]
    assert text.startswith(written)
    return written


def test_numbers_that_are_none_and_what_toml_cannot_hold() -> None:
    again = tomllib.loads(text_of({"a": [math.inf, -math.inf, math.nan, 1e16, 1e-7]}))["a"]
    assert again[:2] + again[3:] == [math.inf, -math.inf, 1e16, 1e-7]
    assert math.isnan(again[2])
    with pytest.raises(TypeError):
        text_of({"a": None})


def test_long_lists_are_written_a_line_for_each_item() -> None:
    data = {"eager": [{"op": "aten::add.Tensor", "inputs": [{"shape": [8, 64]}] * 5}]}
    text = text_of(data)
    assert text.startswith(
        '[[eager]]\nop = "aten::add.Tensor"\ninputs = [\n    { shape = [8, 64] },'
    )
    assert tomllib.loads(text) == data
