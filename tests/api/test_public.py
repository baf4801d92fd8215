"""The names of ``import torchkeeper``: which there are, what loading them costs, what is told."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import torchkeeper

APP = Path(torchkeeper.__file__).parents[1]
PAGE = Path(__file__).parents[2] / "resources" / "manual" / "python.md"
PUBLIC = [name for name in torchkeeper.__all__ if name != "__version__"]
CLASSES = [name for name in PUBLIC if inspect.isclass(getattr(torchkeeper, name))]


def members(name: str) -> Iterator[tuple[str, Callable[..., object] | property]]:
    """The methods and properties of a class that are public and its own."""
    for member, value in vars(getattr(torchkeeper, name)).items():
        if not member.startswith("_") and (inspect.isfunction(value) or type(value) is property):
            yield f"{name}.{member}", value


def documented() -> Iterator[tuple[str, str]]:
    """Each public name, and what is said of it: an attribute's own words, of the rest the first
    sentence.
    """
    for name in PUBLIC:
        one = getattr(torchkeeper, name)
        yield name, first_sentence(one)
        if name in CLASSES:
            yield from ((f"{name}.{field}", said) for field, said in attributes(one).items())
            yield from ((called, first_sentence(what)) for called, what in members(name))


def first_sentence(what: object) -> str:
    paragraph = (inspect.getdoc(what) or "").partition("\n\n")[0]
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(paragraph.split()))[0]


def attributes(one: object) -> dict[str, str]:
    """What the docstring of a class says of its attributes."""
    listed = (inspect.getdoc(one) or "").partition("Attributes:\n")[2]
    found = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", listed, re.M)
    return {name: " ".join(said.split()) for name, said in found}


def reference() -> list[str]:
    said = ((name, text[:1].upper() + text[1:].replace("``", "`")) for name, text in documented())
    return [f"| `{name}` | {text.removesuffix('.')}. |" for name, text in said]


def loaded(code: str) -> set[str]:
    """The modules that are loaded after some code, of a Python that has nothing else to do."""
    script = f"import sys; sys.path.insert(0, {str(APP)!r}); before = set(sys.modules)\n{code}\n"
    script += "print(*sorted(set(sys.modules) - before), sep='\\n')"
    # Without site: what is installed for development loads more.
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_the_import_alone_loads_the_version_alone() -> None:
    there = loaded("import torchkeeper; torchkeeper.__version__")
    version = "torchkeeper.artifacts.version"
    assert {name for name in there if name.startswith("torchkeeper.")} == {version, version[:21]}
    assert not there & {"typing", "re", "importlib", "subprocess"}


def test_a_place_is_opened_without_what_only_some_places_need() -> None:
    packages = sys.path
    more = f"sys.path += {packages!r}\nimport torchkeeper\ntorchkeeper.open('/nowhere')"
    roots = {name.partition(".")[0] for name in loaded(more)}
    assert "torchkeeper" in roots
    foreign = roots - sys.stdlib_module_names - {"torchkeeper"}
    assert foreign <= {"filelock", "platformdirs"}, "neither Qt nor torch, nor a keyring"


def test_every_name_is_there_and_no_other() -> None:
    for name in torchkeeper.__all__:
        assert getattr(torchkeeper, name) is not None
        assert name in dir(torchkeeper)
    with pytest.raises(AttributeError, match="frobnicate"):
        getattr(torchkeeper, "frobnicate")  # noqa: B009
    from torchkeeper import warm

    assert inspect.ismodule(warm), "a package of the house, which is no public name"


@pytest.mark.parametrize("name", CLASSES)
def test_every_attribute_is_documented(name: str) -> None:
    one = getattr(torchkeeper, name)
    told = set(attributes(one))
    fields = {f.name for f in dataclasses.fields(one)} if dataclasses.is_dataclass(one) else told
    assert told == {field for field in fields if not field.startswith("_")}
    assert all(inspect.getdoc(member) for _, member in members(name))


def test_every_parameter_is_documented() -> None:
    functions = [getattr(torchkeeper, name) for name in PUBLIC if name not in CLASSES]
    functions += [one for name in CLASSES for _, one in members(name) if inspect.isfunction(one)]
    assert len(functions) > 8
    for function in functions:
        document = inspect.getdoc(function) or ""
        for name in inspect.signature(function).parameters:
            named = re.search(rf"^(?:\w+, )?{name}(?:, \w+)?: ", document, re.M)
            in_words = f"``{name}``" in document
            plain = name in ("self", "place", "path", "filter", "files", "field", "receipt")
            assert named or in_words or plain, f"{function.__qualname__}: {name}"


def test_nothing_that_is_told_can_be_changed() -> None:
    for name in CLASSES:
        one = getattr(torchkeeper, name)
        if dataclasses.is_dataclass(one):
            assert vars(one)["__dataclass_params__"].frozen, name


def test_the_page_has_every_name_with_its_docstring() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## All names\n")[2].strip().splitlines()
    assert table == ["| Name | What it is |", "|---|---|", *reference()]
