"""``help TOPIC``: a page of the manual, for people on a terminal and as it is elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from torchkeeper.cli.commands import COMMANDS
from torchkeeper.cli.manual import Terminal
from torchkeeper.client import manual
from torchkeeper.client.manual import Page

MANUAL = Path(__file__).parents[2] / "resources/manual"
STYLES = re.compile("\33\\[[0-9;]*m")


def on_terminal(*words: str, **env: str) -> str:
    """What a command says on a terminal."""
    above, below = pty.openpty()
    command = [sys.executable, "-m", "torchkeeper", *words]
    env = {**os.environ, "TERM": "xterm", **env}
    with subprocess.Popen(command, stdin=below, stdout=below, stderr=below, env=env) as process:
        os.close(below)
        said = b""
        try:
            while some := os.read(above, 65536):
                said += some
        except OSError:  # its other end is closed
            pass
        os.close(above)
        assert process.wait(LONG) == 0, said
    return said.decode().replace("\r\n", "\n")


def test_topics_are_listed_with_what_they_are_about(tk: Tk) -> None:
    ran = tk("help", "topics")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["TOPIC", "SUBJECT"]
    names = [line.split()[0] for line in lines[1:]]
    stems = {path.stem for path in MANUAL.glob("*.md")} | {"security", "changelog"}
    assert stems | {"exit-status"} <= {name.removesuffix(".md") for name in names}
    assert any(line.split()[:3] == ["verdicts", "Whether", "programs"] for line in lines)
    for name in names:
        assert name not in COMMANDS, "help would say something else"
        assert tk("help", name).code == 0


def test_a_page_is_plain_markdown_where_no_terminal_is(tk: Tk) -> None:
    ran = tk("help", "verdicts")
    assert (ran.code, ran.err) == (0, "")
    page = manual.read().topics()["verdicts"]
    assert ran.out == page.text
    assert ran.out.startswith("# Verdicts\n")
    assert "<!--" not in ran.out


def test_a_command_goes_before_a_page_of_its_name(tk: Tk) -> None:
    assert tk("help", "places").out == tk("places", "--help").out
    assert tk("help", "places.md").out.startswith("# Places\n")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("verdcts", "verdicts"),
        ("exprot", "export"),
        ("enviroment", "environment"),
        ("exit-statsu", "exit-status"),
    ],
)
def test_a_slip_of_the_pen_is_guessed(tk: Tk, word: str, meant: str) -> None:
    ran = tk("help", word)
    assert (ran.code, ran.out) == (2, "")
    assert f"There is no command or page of the manual “{word}”" in ran.err
    assert f"Did you mean “{meant}”" in ran.err
    assert "“torchkeeper help topics”" in ran.err


def test_a_terminal_gets_headings_tables_and_code_that_fit(tk: Tk) -> None:
    said = on_terminal("help", "verdicts", COLUMNS="72")
    assert "\33[1mVerdicts\33[0m" in said
    plain = STYLES.sub("", said)
    assert max(map(len, plain.splitlines())) <= 72
    assert "|" not in plain and "](" not in plain and "**" not in plain
    [head] = [line for line in plain.splitlines() if line.startswith("Verdict ")]
    column = head.index("Means")
    [usable] = [line for line in plain.splitlines() if line.startswith("usable ")]
    assert usable[column - 2 : column] == "  " and usable[column] != " "
    assert "\33[" not in on_terminal("help", "verdicts", TERM="dumb")
    without = on_terminal("help", "verdicts", NO_COLOR="1")
    assert "\33[36m" not in without and "\33[1m" in without and "`torchkeeper check" in without


def drawn(text: str, width: int = 40, **names: str) -> list[str]:
    page = Page("p", "resources/manual/p.md", "P", "", text)
    known = {f"resources/manual/{name}.md": said for name, said in names.items()}
    return [STYLES.sub("", line) for line in Terminal(page, known, width).lines()]


def test_what_markdown_says_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    code = "torchkeeper ls PLACE   # " + "longer than the terminal " * 3
    assert drawn(f"```sh\n{code}\n# no heading\n```\n") == [f"    {code}", "    # no heading"]
    assert drawn("- one two\n  three\n- four\n\n1. five\n") == [
        "- one two three", "- four", "", "1. five",
    ]  # fmt: skip
    assert drawn("a\nb **c d** *e* f_g_h\n") == ["a b c d e f_g_h"]
    assert drawn("x " * 25) == [("x " * 20).strip(), ("x " * 5).strip()]
    assert drawn("![drawing](a.png)") == ["(picture: drawing)"]
    assert drawn("[t](q.md) [u](p.md#x) [v](../../setup.py)", q="q.md") == ["t (help q.md) u v"]
    assert drawn("[t](https://x.test/y)") == ["t (https://x.test/y)"]
    table = "| A | B |\n|---|---|\n| `x\\|y` | " + "word " * 12 + "|\n"
    assert drawn(table) == [
        "A    B",
        "x|y  word word word word word word word",
        "     word word word word word",
    ]  # fmt: skip
    assert all(len(line) <= 40 for line in drawn("a" * 100 + "\n\n" + table))
