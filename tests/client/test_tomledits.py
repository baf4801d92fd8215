"""Changing single keys of a TOML text."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from torchkeeper.client.recipes.toml import put, remove, rename

TEXT = """\
# A recipe.
about = "it"  # for people

[[callable]]
factory = "m:F"  # a model
inputs = [
    # of the batch
    { shape = ["batch", 4] },  # x
    # a mask
    { shape = ["batch", 4], dtype = "bool" },  # mask
    3,
]

[compile]
# as it is
mode = "default"  # for now

[limits]
seconds = 600
"""
ITEM = ("callable", 0)


def inputs(text: str) -> Any:
    return tomllib.loads(text)["callable"][0]["inputs"]


def test_a_value_is_replaced_where_it_stands() -> None:
    new = put(TEXT, ("compile", "mode"), "max-autotune")
    assert new == TEXT.replace('"default"', '"max-autotune"')
    assert put(TEXT, (*ITEM, "factory"), "a:b") == TEXT.replace("m:F", "a:b")
    assert rename(TEXT, (*ITEM, "factory"), "example") == TEXT.replace("factory =", "example =")
    assert rename("a.b = 1", ("a", "b"), "c d") == 'a."c d" = 1'


def test_tables_stay_where_they_stand() -> None:
    """tomlkit, for one, moves those that stand between the tables of an array."""
    text = """\
[[callable]]
function = "m:f"

[matrix]
batch = [1]  # few

[callable.compile]
mode = "default"

[[callable]]
function = "m:g"
"""
    new = put(text, ("matrix", "batch"), [2], [1])
    assert new == text.replace("[1]", "[2]")
    new = put(new, (*ITEM, "compile", "mode"), "max-autotune")
    assert new == text.replace("[1]", "[2]").replace("default", "max-autotune")
    new = put(text, ("callable", 1, "name"), "x")
    assert new == f'{text}name = "x"\n'


def test_a_key_comes_after_the_others_of_its_table() -> None:
    new = put(TEXT, ("compile", "dynamic"), False)
    assert new == TEXT.replace("# for now\n", "# for now\ndynamic = false\n")
    new = put(TEXT, (*ITEM, "name"), "x")
    assert new == TEXT.replace("    3,\n]\n", '    3,\n]\nname = "x"\n')
    new = put(TEXT, ("matrix", "batch"), [1, 2])
    assert new == f"{TEXT}\n[matrix]\nbatch = [1, 2]\n"
    assert put("", ("matrix", "batch"), [1]) == "[matrix]\nbatch = [1]\n"
    assert put("[compile]", ("compile", "mode"), "x") == '[compile]\nmode = "x"'
    assert put("compile.mode = 1 # x", ("compile", "a"), 2) == "compile.mode = 1 # x\ncompile.a = 2"
    for text, then in (("{}", "{ a = 2 }"), ("{ b = 1 }", "{ b = 1, a = 2 }")):
        assert put(f"compile = {text}\n", ("compile", "a"), 2) == f"compile = {then}\n"
    with pytest.raises(LookupError):
        put("a = 1", ("deep", "table", "x"), 1)


def test_a_key_goes_with_its_line_and_an_empty_table_with_it() -> None:
    new = remove(TEXT, ("limits", "seconds"))
    assert new == TEXT.replace("\n[limits]\nseconds = 600\n", "")
    new = remove(TEXT, ("compile", "mode"))
    assert new == TEXT.replace('mode = "default"  # for now\n', ""), "the comment is in it"
    assert remove(TEXT, (*ITEM, "inputs")).count("#") == 5
    for name, then in (("a", "{ b = 2, c = 3 }"), ("b", "{ a = 1, c = 3 }"),
                       ("c", "{ a = 1, b = 2 }")):  # fmt: skip
        assert remove("t = { a = 1, b = 2, c = 3 }", ("t", name)) == f"t = {then}"
    assert remove("t = { a = { x = 1 } }", ("t", "a")) == "t = {}"
    with pytest.raises(LookupError):
        remove(TEXT, ("compile", "dynamic"))


def test_items_come_after_the_comment_of_the_last() -> None:
    for comma in ("", ","):
        text = f"t.a = [\n  1,\n  2{comma}  # two\n]\n"
        then = f"t.a = [\n  1,\n  2,  # two\n  3,\n  4{comma}\n]\n"
        assert put(text, ("t", "a"), [1, 2, 3, 4], [1, 2]) == then
        assert put(then, ("t", "a"), [1, 2], [1, 2, 3, 4]) == text.replace("2  #", "2,  #")


@pytest.mark.parametrize(
    "now",
    [[0, 1, 2], [0, 1, 2, 9], [0, 2], [1], [2], [0, 9, 2], [9, 0, 1, 2], [9, 8, 2], [9],
     [0, 9, 8, 7, 2], [2, 1, 0]],
)  # fmt: skip
def test_lists_are_changed_item_by_item_keep_their_comments(now: list[int]) -> None:
    before = inputs(TEXT)
    value = [before[n] if n < 3 else n for n in now]
    new = put(TEXT, (*ITEM, "inputs"), value, before)
    assert inputs(new) == value
    assert "# of the batch" in new, "it is of no item that went"
    if now == [0, 2]:
        assert new == TEXT.replace('    { shape = ["batch", 4], dtype = "bool" },  # mask\n', "")
    if now == [0, 1, 2]:
        assert new == TEXT
    one_line = "[[callable]]\ninputs = [" + ", ".join(map(str, (5, 6, 7))) + "]  # all\n"
    numbers = [n + 5 for n in now]
    new = put(one_line, (*ITEM, "inputs"), numbers, [5, 6, 7])
    assert new == f"[[callable]]\ninputs = [{', '.join(map(str, numbers))}]  # all\n"
