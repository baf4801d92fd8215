"""How far something is, on a terminal: the line moves however long it takes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from tests.terminals import Terminal, on_terminal
from torchkeeper.engine import serve

_SAYS = """
import sys
from torchkeeper.cli.output import Progress
progress = Progress(False)
for text in {texts!r}:
    progress.update(text)
sys.stdin.readline()
progress.clear()
print("ended")
"""


def _says(*texts: str) -> Terminal:
    return Terminal(["-c", _SAYS.format(texts=texts)], program=[sys.executable])


def test_what_takes_long_is_counted_in_seconds() -> None:
    terminal = _says("1 of 7 checks")
    for seconds in (2, 3):
        terminal.until(f"1 of 7 checks; {seconds} s")
    terminal.type("\n")
    assert terminal.end() == 0
    assert terminal.said.endswith("\r\n") and "ended" in terminal.said


def test_the_last_of_many_is_shown() -> None:
    terminal = _says(*(f"{number} of 7 checks" for number in range(1, 7)))
    terminal.until("6 of 7 checks")
    terminal.type("\n")
    assert terminal.end() == 0


def test_what_says_nothing_is_seen_to_be_at_work() -> None:
    terminal = _says("")
    terminal.until("at work; 2 s")
    terminal.type("\n")
    assert terminal.end() == 0


def test_quiet_shows_no_progress(kept_291: Path) -> None:
    terminal = Terminal(["ls", kept_291, "--quiet", "--no-pager"])
    assert terminal.end() == 0
    assert " entries\r" not in terminal.said
    assert on_terminal("ls", kept_291, "--no-pager")[1] == terminal.said.replace("\r\n", "\n")


def _told(stream: io.BytesIO) -> list[int]:
    return [json.loads(line)["done"] for line in stream.getvalue().splitlines()]


def test_an_engine_tells_each_of_a_few_steps() -> None:
    stream = io.BytesIO()
    request = serve.Request(serve.Out(stream), 1)
    for step in range(7):
        request.progress(step, 7, "checks")
    assert _told(stream) == list(range(7))


def test_what_came_too_soon_is_told_before_what_takes_long() -> None:
    stream = io.BytesIO()
    request = serve.Request(serve.Out(stream), 1)
    for done in (0, 1, 500):
        request.progress(done, 1000, "bytes")
    while _told(stream)[-1] != 500:
        request.check()
    assert _told(stream)[0] == 0
