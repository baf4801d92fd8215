"""What commands print: tables and warnings for people, one JSON object a line for programs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.cli import screen
from torchkeeper.cli.contract import schema_of
from torchkeeper.client.terminal import Terminal
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


def add_json(command: argparse.ArgumentParser, default: object = False) -> None:
    about = "print one JSON object a line"
    command.add_argument("--json", action="store_true", default=default, help=about)


def add_common(command: argparse.ArgumentParser) -> None:
    """How much a command says."""
    how = command.add_mutually_exclusive_group()
    how.add_argument("-q", "--quiet", action="store_true", help="print only the results and the "
                     "errors")  # fmt: skip
    how.add_argument("-v", "--verbose", action="store_true", help="print everything in full: each "
                     "entry that is left out, each secret, the whole log")  # fmt: skip


def add_words(
    command: argparse.ArgumentParser, name: str, metavar: str, words: Sequence[str], about: str
) -> None:
    """An option that takes several of these words, with commas between them."""

    def chosen(text: str) -> tuple[str, ...]:
        wanted = [word for word in (part.strip().casefold() for part in text.split(",")) if word]
        for word in wanted or [""]:
            if word not in words:
                known = ", ".join(words)
                raise argparse.ArgumentTypeError(f"“{printable(word)}” is none of {known}")
        return tuple(dict.fromkeys(wanted))

    option = command.add_argument(name, metavar=metavar, type=chosen, default=(), help=about)
    option.words = words  # type: ignore[attr-defined]  # for completion


def add_table(command: argparse.ArgumentParser, names: Sequence[str], limit: bool = False) -> None:
    """What is to be printed of a table. names: of its columns; limit: whether it is a list."""
    add_words(command, "--columns", "COL,…", names, "these columns in this order, of "
              f"{', '.join(names)}")  # fmt: skip
    flag(command, "--no-header", "print only rows: no headings and no totals")
    if limit:
        command.add_argument("--limit", metavar="N", type=_count, dest="rows", help="the first N "
                             "rows only")  # fmt: skip


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError("it is not a number of at least 0")
    return int(text)


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
    Terminal.free()
    screen.out().write(visible(text) + "\n")


def note(text: str) -> None:
    """A line on standard error, or several, as ``line`` has them; none with --quiet."""
    if not screen.now.quiet:
        warn(text)


def warn(text: str, colour: str = "") -> None:
    """The same with --quiet, too: what is wrong; colour: what the first word has on a terminal."""
    Terminal.free()
    stream = screen.err()
    first, space, rest = visible(text).partition(" ")
    if colour and screen.coloured(sys.stderr):
        first = screen.paint(first, colour)
    stream.write(f"{first}{space}{rest}\n")
    stream.flush()


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
    elif not screen.now.quiet:  # cron would send a mail of it
        closing(said)


def closing(said: str) -> None:
    """A line that sums up what was listed, if there is something to say."""
    if said and screen.now.header:
        line(said)


def misuse(what: str, why: str = "", remedy: str = "") -> UserError:
    return UserError(what, why, remedy, code="wrong-usage")


def forgotten(args: argparse.Namespace, what: str, forget: Callable[[], int]) -> int:
    """Have some of what is kept forgotten, and say how much."""
    if not args.ident:
        raise misuse(f"Which {what} do you want to forget?", "", "Give its id, “last”, or “all”.")
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
    warn(f"torchkeeper: {error.what}", screen.COLOURS["error"])
    for part in (error.why, error.remedy):
        for text in part.splitlines():
            warn(f"  {text}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]) -> None:
    """Columns as wide as their cells, as ``Table`` has them."""
    Table(head, right).print(rows)


#: The columns that are never cut: what an entry is, and a command, which is copied.
NAME, COMMAND = "NAME", "BY"


def column_names(head: Sequence[str]) -> list[str]:
    """The names of columns with these headings, as --columns takes them."""
    return [heading.lower().replace(" ", "-") for heading in head]


class Table:
    """Columns that are as wide as their cells in what is printed first. Where a person reads them
    on a terminal, some are left out to make room, and of texts the last one is cut, but no name.
    --columns, --no-header and --limit are heeded. spare: the headings of those that make room, the
    first first. names: of the columns, where they are not their headings.
    """

    def __init__(
        self, head: Sequence[str], right: frozenset[int], spare: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._head, self._right, self._spare = tuple(head), right, spare
        self._names = names or column_names(head)
        self._left = screen.now.limit
        #: Which columns are printed, by their place, and how wide each is; empty before that.
        self._which: list[int] = []
        self._widths: list[int] = []

    def print(self, rows: Sequence[Sequence[str]]) -> None:
        """Some rows more, with the headings before the first."""
        if self._left is not None:
            rows = rows[: self._left]
            self._left -= len(rows)
        cells = [_safe(row) for row in rows]
        if not self._widths:
            self._widths = [max(map(len, one)) for one in zip(self._head, *cells, strict=True)]
            self._which = self._fitting()
            if screen.now.header:
                cells = [self._head, *cells]
        if self._which:
            self._print(cells)

    def _fitting(self) -> list[int]:
        """The columns that were asked for, or those that there is room for."""
        if screen.now.columns:
            return [self._names.index(x) for x in screen.now.columns if x in self._names]
        which = list(range(len(self._head)))
        if screen.shown():
            room = shutil.get_terminal_size().columns + 2
            for heading in self._spare:
                if heading in self._head and sum(self._widths[n] + 2 for n in which) > room:
                    which.remove(self._head.index(heading))
        return which

    def _print(self, cells: list[tuple[str, ...]]) -> None:
        # One format for a row of a hundred thousand takes a quarter of the time of one for each
        # cell.
        shape = "  ".join(
            f"%{'' if n in self._right else '-'}{self._widths[n]}s" for n in self._which
        )
        if len(self._which) < len(self._head) or self._which != sorted(self._which):
            cells = [tuple(row[n] for n in self._which) for row in cells]
        texts = [(shape % row).rstrip() for row in cells]
        heads, last = [self._head[n] for n in self._which], self._which[-1]
        if screen.shown() and heads[-1] not in (NAME, COMMAND) and last not in self._right:
            # Half a number is another one, and what is before the last column stays whole.
            least = sum(self._widths[n] + 2 for n in self._which[:-1]) + len(heads[-1])
            room = max(shutil.get_terminal_size().columns, least)
            texts = [x if len(x) <= room else x[: room - 1] + "…" for x in texts]
        if "VERDICT" not in heads or not screen.coloured(sys.stdout):
            lines(texts)
            return
        at = heads.index("VERDICT")
        start = sum(self._widths[n] + 2 for n in self._which[:at])
        for text, row in zip(texts, cells, strict=True):
            painted(text, start, row[at])


def painted(text: str, start: int, word: str) -> None:
    """A line, of which a word that begins there has its colour, if it has one."""
    shown, end = visible(text), start + len(word)
    if colour := screen.COLOURS.get(word):
        shown = shown[:start] + screen.paint(shown[start:end], colour) + shown[end:]
    screen.out().write(shown + "\n")


def _safe(row: Sequence[str]) -> tuple[str, ...]:
    """The cells as ``printable`` has each; most rows are so, which is found out for all at once."""
    whole = "".join(row)
    if len(whole) <= SHORT and whole.isprintable():
        return tuple(row)
    return tuple(map(printable, row))


def left_lines(left: Sequence[LeftFinding]) -> list[str]:
    """What was not taken, a line for each reason, with how many and one example; with --verbose a
    line for each.
    """
    reasons: dict[tuple[str, str], list[LeftFinding]] = {}
    for one in left:
        # What is broken is so in several ways.
        which = str(len(reasons)) if screen.now.verbose else one["code"]
        reasons.setdefault((which, str(one["params"].get("problem"))), []).append(one)
    lines = []
    for first, *others in reasons.values():
        error = user_error(first["code"], first["params"])
        where = printable(first["path"] or first.get("key") or "?")
        more = f" and {len(others):,} more" if others else ""
        lines.append(f"left: {where}{more}: {error.what} {error.why}".rstrip())
    return lines


class Progress:
    """A line that is rewritten on a terminal, and nothing elsewhere. A thread shows what came last,
    and for how many seconds nothing else has: the line moves however long something takes.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._text, self._since, self._drawn, self._width = "", 0.0, 0.0, 0
        # Signals are handled in the midst of it.
        self._lock = threading.RLock()
        self._stop: threading.Event | None = None

    def update(self, text: str) -> None:
        """Show the text, ten times a second at most, the last one in any case; an empty one when
        something has taken long.
        """
        if self._quiet or not screen.rewrites():
            return
        with self._lock:
            now = time.monotonic()
            if text != self._text or self._stop is None:
                self._text, self._since = text, now
            if text and now - self._drawn > 0.1:
                self._draw(now)
            if self._stop is None:
                self._stop, Terminal.wipe = threading.Event(), self._wipe
                threading.Thread(target=self._tick, args=(self._stop,), daemon=True).start()

    def _tick(self, stop: threading.Event) -> None:
        while not stop.wait(0.5):
            with self._lock:
                if not stop.is_set():
                    self._draw(time.monotonic())

    def _draw(self, now: float) -> None:
        if Terminal.taken:
            return
        seconds = int(now - self._since)
        waited = f"{seconds} s" if seconds >= 2 else ""
        text = "; ".join(filter(None, [self._text or (waited and "at work"), waited]))
        columns = shutil.get_terminal_size().columns
        shown = printable(text, columns)[: columns - 1]
        if shown:
            sys.stderr.write("\r" + shown.ljust(self._width))
            sys.stderr.flush()
            self._width = len(shown)
        self._drawn = now

    def clear(self) -> None:
        with self._lock:
            if self._stop is not None:
                self._stop.set()
                self._stop = Terminal.wipe = None
            self._wipe()

    def _wipe(self) -> None:
        with self._lock:
            if self._width:
                sys.stderr.write("\r" + " " * self._width + "\r")
                sys.stderr.flush()
                self._width = 0


@contextlib.contextmanager
def waiting(text: str, quiet: bool) -> Iterator[None]:
    """While it lasts, a terminal shows what is waited for, and how long."""
    progress = Progress(quiet)
    progress.update(text)
    try:
        yield
    finally:
        progress.clear()


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
