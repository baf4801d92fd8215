"""What a cell of the table says: its text, its tooltip, and what is read aloud."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.entry import WITHOUT_VERDICT, Entry
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.client.words.say import kind_words

COLUMNS = (
    "kind", "name", "verdict", "key", "size", "files", "mtime", "torch", "device", "compile_s",
    "expires", "used",
)  # fmt: skip
(
    KIND, NAME, VERDICT, KEY, SIZE, FILES, MTIME, TORCH, DEVICE, COMPILE, EXPIRES, USED
) = range(len(COLUMNS))  # fmt: skip
#: Those that only a server has something to say in, and those that it has nothing to say in.
SERVERS = frozenset({EXPIRES, USED})
NOT_SERVERS = frozenset({MTIME})
#: Those that stand to the right.
NUMBERS = frozenset({SIZE, FILES, COMPILE})


def _tr(text: str) -> str:
    return QCoreApplication.translate("Entries", text)


def verdict_words(verdict: str) -> str:
    """A verdict as people call it."""
    return {
        "usable": _tr("Usable"),
        "conditional": _tr("Conditional"),
        "unknown": _tr("Unknown"),
        "unsafe": _tr("Unsafe"),
        "stale": _tr("Stale"),
        "broken": _tr("Broken"),
    }.get(verdict, verdict)


def header_text(column: int) -> str:
    """The title of a column."""
    return (
        _tr("Kind"),
        _tr("Name"),
        _tr("Verdict"),
        _tr("Key"),
        _tr("Content"),
        _tr("Files"),
        _tr("Last change"),
        _tr("Torch"),
        _tr("Device"),
        _tr("Compile time"),
        _tr("Expires"),
        _tr("Last used"),
    )[column]


def shown_name(entry: Entry) -> str:
    """The name to show: without one, the last part of the path."""
    return printable(entry.name or entry.path.rpartition("/")[2] or entry.key)


#: In the order of the columns.
_TEXTS: tuple[Callable[[Entry], str], ...] = (
    lambda e: kind_words(e.kind),
    shown_name,
    lambda e: verdict_words(e.verdict) if e.verdict else "",
    lambda e: printable(e.key),
    lambda e: say.size(e.size),
    lambda e: f"{e.files:,}",
    lambda e: "" if e.mtime is None else say.ago(e.mtime),
    lambda e: printable(e.torch or ""),
    lambda e: printable(e.device or ""),
    lambda e: "" if e.compile_s is None else say.seconds(e.compile_s),
    lambda e: "" if e.expires is None else say.until(e.expires),
    lambda e: "" if e.used is None else say.ago(e.used),
)


def cell_text(entry: Entry, column: int) -> str:
    """The text of one cell; empty where nothing is known."""
    return _TEXTS[column](entry)


def on_server(entry: Entry) -> list[str]:
    """When a server drops an entry, and when it was last used there; nothing where unknown."""
    lines = []
    if entry.expires is not None:
        never = _tr("Never expires")
        lines.append(_tr("Expires {}").format(say.when(entry.expires)) if entry.expires else never)
    if entry.used is not None:
        lines.append(_tr("Last used {}").format(say.ago(entry.used)))
    return lines


def problem_text(entry: Entry) -> str:
    """Why an entry is broken, in words; empty where it is not."""
    return str(user_error(entry.problem, {})) if entry.problem else ""


def orphan_text(entry: Entry) -> str:
    """Why nothing needs an entry, in words; empty where it is not known to be so."""
    same = entry.orphan == entry.problem  # which has said it
    return str(user_error(entry.orphan, {})) if entry.orphan and not same else ""


def verdict_tip(entry: Entry) -> str:
    """The verdict and why, in a sentence or two."""
    if entry.verdict is None:
        if entry.kind in WITHOUT_VERDICT:
            return _tr("Has no verdict of its own: what needs it is what is used")
        return _tr("Not asked yet")
    said = {
        "usable": _tr("A program with this environment's defaults finds it"),
        "conditional": _tr("A program may find it"),
        "unknown": _tr("Whether a program finds it is not recorded"),
        "unsafe": _tr("PyTorch takes it here, and it may compute wrongly"),
        "stale": _tr("No program finds it here"),
        "broken": _tr("It is damaged, or something it needs is"),
    }.get(entry.verdict, entry.verdict)
    return f"{said}:\n{entry.why}" if entry.why else said


def tooltip(entry: Entry, column: int) -> str:
    """What else there is to say of one cell."""
    if column in (KIND, NAME) and (entry.problem or entry.orphan):
        said = [shown_name(entry), problem_text(entry), orphan_text(entry)]
        return "\n\n".join(text for text in said if text)
    if column == NAME:
        return "\n".join([shown_name(entry), printable(entry.path), *on_server(entry)])
    if column == VERDICT:
        return verdict_tip(entry)
    if column == KEY:
        return f"{printable(entry.key)}\n{printable(entry.path)}"
    if column == SIZE:
        return _tr("{} bytes").format(f"{entry.size:,}")
    when = {MTIME: entry.mtime, EXPIRES: entry.expires or None, USED: entry.used}.get(column)
    if when is not None:
        return say.when(when)
    if column == USED:
        return _tr("Not asked yet, or the server does not say: before version 7.2 it cannot tell "
                   "a look from a use")  # fmt: skip
    if column == EXPIRES:
        return cell_text(entry, column) or _tr("Not asked yet, or the server does not say")
    return cell_text(entry, column) or _tr("Not recorded in this entry")


def accessible_text(entry: Entry, column: int) -> str:
    """One cell for whoever listens."""
    if column == VERDICT:
        words = cell_text(entry, column)
        return f"{words}, {entry.why}" if words and entry.why else words or _tr("no verdict")
    text = cell_text(entry, column) or _tr("not known")
    if column == NAME and entry.broken:
        text = _tr("{}, broken").format(text)
    if column == NAME and entry.orphan:
        text = _tr("{}, orphan").format(text)
    return text
