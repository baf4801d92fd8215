"""What commands print: tables for people, one JSON object a line for programs."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import SHORT, UserError, printable, user_error, visible

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import LeftFinding


def line(text: str = "") -> None:
    """A line on standard output, or several. What a terminal would obey, or hide, or cannot be
    encoded is made visible, never lost: names may be a stranger's.
    """
    sys.stdout.write(visible(text) + "\n")


def note(text: str) -> None:
    """A line on standard error, or several, as ``line`` has them."""
    sys.stderr.write(visible(text) + "\n")
    sys.stderr.flush()


def lines(texts: Sequence[str]) -> None:
    """Many lines on standard output, in one go."""
    if texts:
        line("\n".join(texts))


def json_line(obj: Mapping[str, object]) -> str:
    """An object as ``emit`` writes it."""
    return json.dumps(obj)


def json_lines(objects: Sequence[Mapping[str, object]]) -> list[str]:
    """Objects with the same first field as ``emit`` writes them; many at once take half as long."""
    if not objects:
        return []
    first = f'{{"{next(iter(objects[0]))}": '
    # In a text a quote follows a backslash, and one that ends it is followed by no name.
    return json.dumps(objects)[1:-1].replace("}, " + first, "}\n" + first).split("\n")


def emit(obj: Mapping[str, object]) -> None:
    """One JSON object on a line of its own."""
    line(json_line(obj))


def result(args: argparse.Namespace, values: Mapping[str, object], said: str) -> None:
    """The end of a command: ``{"result": …}`` with --json, else a sentence."""
    if args.json:
        emit({"result": values})
    else:
        line(said)


def complain(error: UserError) -> None:
    """What, why and remedy on standard error."""
    note(f"torchkeeper: {error.what}")
    for part in (error.why, error.remedy):
        for text in part.splitlines():
            note(f"  {text}")


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int],
    widths: list[int] | None = None,
) -> list[int]:
    """Columns as wide as their cells, or so wide; the last one is cut where a terminal ends.

    The widths are the result. Without a head the rows go on with a table that was begun before.
    """
    cells = [_safe(row) for row in ([head, *rows] if head else rows)]
    widths = widths or [max(map(len, column)) for column in zip(*cells, strict=True)]
    # One format for a row of a hundred thousand takes a quarter of the time of one for each cell.
    shape = "  ".join(f"%{'' if n in right else '-'}{width}s" for n, width in enumerate(widths))
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    texts = []
    for row in cells:
        text = (shape % row).rstrip()
        texts.append(text[: limit - 1] + "…" if limit and len(text) > limit else text)
    lines(texts)
    return widths


def _safe(row: Sequence[str]) -> tuple[str, ...]:
    """The cells as ``printable`` has each; most rows are so, which is found out for all at once."""
    whole = "".join(row)
    if len(whole) <= SHORT and whole.isprintable():
        return tuple(row)
    return tuple(map(printable, row))


def left_lines(left: Sequence[LeftFinding]) -> list[str]:
    """What was not taken, a line for each reason, with how many and one example."""
    reasons: dict[tuple[str, str], list[LeftFinding]] = {}
    for one in left:
        # What is broken is so in several ways.
        reasons.setdefault((one["code"], str(one["params"].get("problem"))), []).append(one)
    lines = []
    for (code, _), ones in reasons.items():
        first = ones[0]
        error = user_error(code, first["params"])
        where = printable(first["path"] or first.get("key") or "?")
        more = f" and {len(ones) - 1:,} more" if len(ones) > 1 else ""
        why = f" {error.why}" if error.why else ""
        lines.append(f"left: {where}{more}: {error.what}{why}")
    return lines


class Progress:
    """A line that is rewritten on a terminal, and nothing elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._last = 0.0
        self._width = 0

    def update(self, text: str) -> None:
        """Show the text, ten times a second at most."""
        now = time.monotonic()
        if self._shown and now - self._last > 0.1:
            self._last = now
            columns = shutil.get_terminal_size().columns
            shown = printable(text, columns)[: columns - 1]
            sys.stderr.write("\r" + shown.ljust(self._width))
            sys.stderr.flush()
            self._width = len(shown)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0


def confirm(question: str) -> bool:
    """Ask on the terminal; no is the default. Only to be called where there is a terminal."""
    sys.stderr.write(f"{visible(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def ask_password(prompt: str) -> str:
    """What the user types, which is not shown."""
    import getpass

    return getpass.getpass(visible(prompt))


def can_ask() -> bool:
    """Whether somebody could answer."""
    try:
        return os.isatty(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return False


def progress_text(body: Mapping[str, Any]) -> str:
    """A progress message as a person reads it."""
    done, total, unit = body.get("done"), body.get("total"), body.get("unit")
    if unit == "bytes" and isinstance(done, int):
        of = f" of {say.size(total)}" if isinstance(total, int) else ""
        return f"{say.size(done)}{of}"
    if unit == "taken-back" and isinstance(total, int):
        return f"taking back: {done:,} of {total:,} steps"
    if unit == "files" and total is None and isinstance(done, int):
        return f"looking: {say.count(done, 'file', 'files')}"
    return f"{done:,} of {total:,} {unit}" if isinstance(total, int) else f"{done} {unit}"
