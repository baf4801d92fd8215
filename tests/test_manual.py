"""The manual and the documents beside it: what is made of tables is as it would be made now, the
tables leave nothing out, and every link leads somewhere.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import torchkeeper
from tests import manual as making
from tests.described import KINDS, VARIABLES
from torchkeeper.artifacts.entry import COUNTED_APART, VERDICTS
from torchkeeper.artifacts.entry import KINDS as EVERY_KIND
from torchkeeper.client import manual
from torchkeeper.settings.known import BY_NAME
from torchkeeper.stores import query

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(making.MANUAL.glob("*.md")), *(ROOT / name for name in manual.DOCUMENTS)]
#: What our own processes tell each other; nobody sets it.
AMONG_US = {
    "TORCHKEEPER_ASK", "TORCHKEEPER_FILLED", "TORCHKEEPER_INDEX",
    "_TORCHKEEPER_RECORD", "_TORCHKEEPER_RECORD_HERE",
    "COMP_LINE", "COMP_POINT", "_ARGCOMPLETE_STDOUT_FILENAME",  # from a shell that completes a line
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_made_parts_are_as_the_tables_say(page: Path) -> None:
    text = page.read_text()
    assert text == making.made(text), "python -m tests.manual --write"


def test_every_part_is_in_one_page() -> None:
    found = [name for page in PAGES for name in making.parts_in(page.read_text())]
    assert sorted(found) == sorted(making.PARTS)


def test_a_part_that_is_out_of_date_is_seen() -> None:
    old = "a\n<!-- made: kinds -->\nout of date\n<!-- end -->\nb\n"
    assert "out of date" not in making.made(old)
    assert making.made(old).startswith("a\n<!-- made: kinds -->\n| Kind |")
    assert making.made(old).endswith("\n<!-- end -->\nb\n")


def test_every_kind_is_described() -> None:
    assert tuple(KINDS) == EVERY_KIND
    apart = {kind for kind, told in KINDS.items() if "counted apart" in told.what}
    assert apart | {"unknown"} == set(COUNTED_APART)


def test_every_word_of_a_filter_is_described_and_one() -> None:
    parsed = [query.parse(word) for word in query.FILTERS]
    fields = {field for one in parsed for field in one.fields}
    assert fields == {*query.FIELDS, "", query.VERDICT, query.COMPILER} | {"is"}
    states = {word[3:] for word in query.FILTERS if word.startswith("is:")}
    assert states == {*VERDICTS, *query.STATES}


def test_every_variable_that_is_read_is_described() -> None:
    read: dict[str, str] = {}
    for path in sorted(Path(torchkeeper.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for name in variables_of(node):
                read.setdefault(name, path.name)
    known = {name for some in VARIABLES.values() for name in some}
    assert {"TORCHKEEPER_TORCH_PYTHON", "TORCHKEEPER_REDIS_PASSWORD", "NO_COLOR"} <= read.keys()
    unknown = {name: where for name, where in read.items()
               if name not in known | AMONG_US and name not in BY_NAME}  # fmt: skip
    assert unknown == {}, "describe them in tests/described.py (VARIABLES)"


def variables_of(node: ast.AST) -> list[str]:
    """The variables of the environment that a node reads by name, or is about."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.findall(r"^(_?TORCHKEEPER_[A-Z_]*[A-Z])$", node.value)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        of, name = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        of, name = (node.func.value if node.func.attr == "get" else node.func), node.args[0]
    else:
        return []
    if ast.unparse(of) not in ("os.environ", "os.getenv") or not isinstance(name, ast.Constant):
        return []
    return [str(name.value)]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    path = page.relative_to(ROOT).as_posix()
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        led = manual.lead(path, target)
        if led is None:
            assert target.startswith("https://"), target
            continue
        file = ROOT / led[0]
        assert file.exists() and file.is_relative_to(ROOT), target
        if led[1]:
            assert led[1] in manual.anchors(manual.headings(file.read_text())), target


def test_headings_are_called_as_links_call_them() -> None:
    text = "# A *b*\n\n```sh\n# no heading\n```\n\n## `x --y`, z\n\n## A b\n"
    assert manual.headings(text) == ["A *b*", "`x --y`, z", "A b"]
    assert manual.anchors(manual.headings(text)) == ["a-b", "x---y-z", "a-b-1"]


def test_all_is_read_in_the_order_of_the_index() -> None:
    whole = manual.read()
    named = re.findall(r"\]\(([\w-]+\.md)\)", whole.pages[manual.INDEX].text)
    order = [manual.INDEX, *(f"resources/manual/{name}" for name in named)]
    assert list(whole.pages) == [*dict.fromkeys(order), *manual.DOCUMENTS]
    assert not any("<!--" in page.text for page in whole.pages.values())
    assert whole.topics()["places"].about.startswith("Folders, bundles and servers")
