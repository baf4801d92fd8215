"""What commands print: tables and warnings for people, one JSON object a line for programs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.cli.contract import schema_of
from torchkeeper.client.words import owned, say
from torchkeeper.client.words.problems import SHORT, UserError, printable, user_error, visible

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import LeftFinding
    from torchkeeper.stores.shapes import Owned, Writer


#: What each line of JSON says that it is, in its first field; one text.
_schema = [""]


def begin(command: str) -> None:
    """Have each line of JSON name the schema of this command, such as ``config check``."""
    _schema[:] = [schema_of(command)]


def flag(command: argparse._ActionsContainer, name: str, help_text: str) -> None:
    command.add_argument(name, action="store_true", help=help_text)


def add_json(command: argparse.ArgumentParser) -> None:
    flag(command, "--json", "print one JSON object a line")


def describe(command: argparse.ArgumentParser, about: str, more: str) -> None:
    """What the help of a command says before its arguments and after them, in these lines."""
    command.description, command.epilog = about, more
    command.formatter_class = argparse.RawDescriptionHelpFormatter


def add_part(
    parts: argparse._SubParsersAction[argparse.ArgumentParser], name: str,
    run: Callable[[argparse.Namespace], int], help_text: str, more: str = "",
) -> argparse.ArgumentParser:  # fmt: skip
    """A part of a command, what runs it, and what is said of it; more: in its own help."""
    about = f"{help_text[0].upper()}{help_text[1:]}. {more}".strip()
    made = parts.add_parser(name, help=help_text, description=about)
    made.set_defaults(run=run, part=name)
    return made


def line(text: str = "") -> None:
    """A line on standard output, or several. What a terminal would obey, or hide, or cannot be
    encoded is made visible, never lost: names may be a stranger's.
    """
    sys.stdout.write(visible(text) + "\n")


def note(text: str) -> None:
    """A line on standard error, or several, as ``line`` has them."""
    sys.stderr.write(visible(text) + "\n")
    sys.stderr.flush()


def notes(texts: Iterable[str]) -> None:
    for text in texts:
        note(text)


def remark(args: argparse.Namespace, texts: Iterable[str | None]) -> None:
    """Lines for people on standard error, of what there is to say; none with --json."""
    if not args.json:
        notes(filter(None, texts))


def lines(texts: Sequence[str]) -> None:
    """Many lines on standard output, some in one go: no second copy of all is ever in memory."""
    for start in range(0, len(texts), 1000):
        line("\n".join(texts[start : start + 1000]))


def json_lines(objects: Sequence[Mapping[str, object]]) -> list[str]:
    """Objects with the same first field as ``emit`` writes them; many at once take half as long."""
    if not objects:
        return []
    first = f'{{"{next(iter(objects[0]))}": '
    begins = f'{{"schema": {json.dumps(_schema[0])}, {first[1:]}'
    # In a text a quote follows a backslash, and one that ends it is followed by no name.
    texts = json.dumps(objects)[len(first) + 1 : -1].replace("}, " + first, "}\n" + begins)
    return (begins + texts).split("\n")


def emit(obj: Mapping[str, object]) -> None:
    line(json.dumps({"schema": _schema[0], **obj}))


def emit_all(objects: Iterable[Mapping[str, object]]) -> None:
    for one in objects:
        emit(one)


def result(args: argparse.Namespace, values: Mapping[str, object], said: str) -> None:
    """The end of a command: ``{"result": …}`` with --json, else a sentence."""
    if args.json:
        emit({"result": values})
    else:
        line(said)


def misuse(what: str, why: str = "", remedy: str = "") -> UserError:
    return UserError(what, why, remedy, code="wrong-usage")


def forgotten(args: argparse.Namespace, what: str, forget: Callable[[], int]) -> int:
    """Have some of what is kept forgotten, and say how much."""
    if not args.ident:
        raise misuse(f"Which {what} is to be forgotten?", "", "Give its id, “last”, or “all”.")
    gone = forget()
    result(args, {"forgotten": gone}, f"{say.count(gone, what, f'{what}s')} forgotten.")
    return 0


def emit_error(args: argparse.Namespace | None, error: UserError) -> None:
    """With --json an error on standard output, too: its reader may see nothing else."""
    if getattr(args, "json", False):
        about = {"code": error.code or "failed", "what": error.what, "why": error.why}
        emit({"error": {**about, "remedy": error.remedy}})
        sys.stdout.flush()


def report(args: argparse.Namespace | None, error: UserError) -> None:
    """Say what has ended a command, for people and with --json for programs."""
    complain(error)
    with contextlib.suppress(OSError):  # whoever read the output may be gone
        emit_error(args, error)


def complain(error: UserError) -> None:
    note(f"torchkeeper: {error.what}")
    notes(f"  {text}" for part in (error.why, error.remedy) for text in part.splitlines())


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int],
    widths: list[int] | None = None,
) -> list[int]:
    """Columns as wide as their cells, or so wide; the last one is cut where a terminal ends. The
    widths are the result. Without a head the rows go on with a table that was begun before.
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
    for first, *others in reasons.values():
        error = user_error(first["code"], first["params"])
        where = printable(first["path"] or first.get("key") or "?")
        more = f" and {len(others):,} more" if others else ""
        lines.append(f"left: {where}{more}: {error.what} {error.why}".rstrip())
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
    import getpass

    return getpass.getpass(visible(prompt))


def check_can_ask(what: str) -> None:
    """Raises UserError where nobody could answer; what: that for which is asked."""
    if not can_ask():
        raise misuse(
            f"{what} was not done.", "There is no terminal to ask on.", "Add --yes to answer yes."
        )


def can_ask() -> bool:
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


#: Interpreters that this was said of.
_warned: set[str] = set()


def note_owners(found: Sequence[Owned] | None) -> None:
    """The warnings among what an engine found, each in a line."""
    for one in owned.grave(found):
        note(f"{one.what} {one.remedy.partition(chr(10))[0]}")


def warn_of_owners(found: Sequence[Owned] | None) -> None:
    """The warnings, with their reasons."""
    for one in owned.grave(found):
        complain(one.error)


def tell_owners(found: Sequence[Owned] | None, for_use: bool = False) -> None:
    """Warnings with their reasons, and what may be meant, in a line each; of a place that is to be
    used the latter only where it is a server: all who use it run what lies there.
    """
    warn_of_owners(found)
    for one in owned.told(found):
        if not one.grave and (one.server or not for_use):
            note(" ".join([one.what, one.why, one.remedy]))


def warn_of_interpreter(python: str, found: Sequence[Writer]) -> None:
    """That others can change an interpreter that is about to be started; said once of each."""
    if python not in _warned:
        _warned.add(python)
        complain(owned.of_interpreter(python, found))
