"""The page about recipes names every key that a recipe can have, and its examples are recipes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from torchkeeper.warm.recipes import items, recipe, values

PAGE = (Path(__file__).parents[2] / "resources/manual/recipes.md").read_text()


def section(heading: str) -> str:
    found = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert found, heading
    return found[1]


def rows(text: str, after: str = "") -> Iterator[list[str]]:
    """The cells of the first table behind some words, without its head."""
    found = re.search(r"^\|.*\n\|---.*\n((?:\|.*\n)+)", text[text.index(after) :], re.M)
    assert found
    for line in found[1].splitlines():
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def named(text: str, after: str = "") -> list[str]:
    """The keys in the first column of a table."""
    return [key for row in rows(text, after) for key in re.findall(r"`([^`]+)`", row[0])]


def by_source(heading: str) -> dict[str, set[str]]:
    """Of a table with a column of sources: what it names for each."""
    found: dict[str, set[str]] = {source: set() for source in recipe.KINDS}
    for key, sources, _ in rows(section(heading)):
        for source in sources.split(", "):
            found[source].add(key.strip("`"))
    return found


def test_the_page_names_every_key_and_no_other() -> None:
    assert sorted(named(section("The file"))) == sorted(recipe.SECTIONS)
    for source in recipe.KINDS:
        assert sorted(named(section(source))) == sorted(items.KEYS[source]), source
    for caller, keys in items._CALL.items():
        said = re.search(r"(?:A call has the keys|`calls` \| as above, with) ((?:`\w+`|[, ]|and)+)",
                         section(caller))  # fmt: skip
        assert said, caller
        assert set(re.findall(r"`(\w+)`", said[1])) == set(keys), caller
    inputs = section("Inputs")
    assert set(named(inputs, "A tensor can also have")) | {"shape"} == set(values._TENSOR)
    forms = {re.findall(r"\{ (\w+)", text)[0] for text in named(inputs)}
    assert forms == {*values._FORMS, "dtype", "device"}


def test_the_page_says_which_source_takes_what() -> None:
    assert by_source("compile") == {kind: set(keys) for kind, keys in items.COMPILES.items()}
    assert by_source("matrix") == {kind: set(keys) for kind, keys in recipe.AXES.items()}
    axes = {key.strip("`"): text for key, _, text in rows(section("matrix"))}
    assert set(re.findall(r"`([^`]+)`", axes["mode"])) == set(items.MODES)
    assert all(f"`{fill}`" in section("Inputs") for fill in values.FILLS)
    texts = {key.strip("`"): text for key, _, text in rows(section("compile"))}
    assert set(re.findall(r"`([^`]+)`", texts["precision"])) >= set(items.PRECISIONS)
    assert set(re.findall(r"`([^`]+)`", texts["autocast"])) >= set(items.AUTOCASTS)


def keys_of(table: object) -> Iterator[str]:
    if isinstance(table, Mapping):
        for key, value in table.items():
            yield key
            yield from keys_of(value)
    elif isinstance(table, list):
        for value in table:
            yield from keys_of(value)


def test_each_example_is_a_recipe_and_together_they_have_every_key_of_an_item() -> None:
    examples = [
        tomllib.loads(text) for text in re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)
    ]
    assert [(one, recipe.faults(one)) for one in examples if recipe.faults(one)] == []
    assert all(recipe.variants_of([recipe.checked(one)]) for one in examples)
    used: dict[str, set[str]] = {source: set() for source in recipe.KINDS}
    for one in examples:
        source, told = recipe.items_of(recipe.without_faults(one))
        used[source] |= {key for item in told for key in item}
    lacking = {
        source: set(items.KEYS[source]) - used[source] - {"example", "calls", "compile"}
        for source in recipe.KINDS
    }
    assert not any(lacking.values()), lacking
    assert {"calls", "compile", "matrix", "environment", "limits"} <= set(keys_of(examples))
