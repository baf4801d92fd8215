"""What an engine reports, as an error for people: what happened, why, and what to do.

An engine sends only a code and its parameters; nothing an entry contains is ever shown as if the
app had said it. The window and the command line both take their words from here; what they are
made of is in ``catalogue``.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import string
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from torchkeeper.artifacts.masking import without_logins
from torchkeeper.client.words import say
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.catalogue.words import Forms, Words
from torchkeeper.client.words.recipewords import expectation
from torchkeeper.client.words.tongue import Nouns, Text, form, is_english, several, tr

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import InUse, Using

#: What engines say with figures in it, in English, of why something is not possible, the longer of
#: two that fit first; what they say without is found where they do. What the system or PyTorch says
#: stays as it is.
TEMPLATES: tuple[Text, ...] = (
    # Filters
    "the fields are {fields}; quotes make it a text to look for",
    "{field} takes “:”",
    "{field} takes <, >, <=, >= or =",
    "the kinds are {kinds}",
    "the states are {states}",
    "a number is expected; units: {units}",
    # Bundles
    "{name} is compressed or encrypted",
    "{name} cannot be read ({why})",
    "{name} cannot be read",
    "It cannot be read ({why})",
    "It holds {name} twice",
    "It holds the path {name}",
    "{name} unpacks out of proportion",
    "{name} is compressed in an unusual way",
    "{name} would lie outside of it",
    "Its manifest has a strange entry of kind {kind}",
    "it has more than {n} artifacts",
    # Who signed a bundle
    "by nobody",
    "by a key that is not among your signers ({key})",
    "by {key}, which could not be checked: there is no ssh-keygen here",
    "by {signer} ({key})",
    # What differs between two CPUs
    "{flags} is missing here and {more} is only here",
    "{flags} is missing here",
    "{flags} is only here",
    # Compiling
    "PyTorch compiled it, but cannot use it: {why}",
    "this Triton has no backend {backend}",
    "Its process ended by itself, with exit status {status}; the last that it said: {last}",
    "Its process ended by itself, with exit status {status}",
)


def reworded(why: str) -> str:
    """The same in the language that is used, where it is a text of ours."""
    said = tr(why)
    if is_english() or said != why:
        return said
    for template in TEMPLATES:
        if match := _pattern(template).fullmatch(why):
            return tr(template, **match.groupdict())
    return why


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What a template has been filled in to."""
    parts = [
        re.escape(text) + (f"(?P<{name}>.+?)" if name else "")
        for text, name, _, _ in string.Formatter().parse(template)
    ]
    return re.compile("".join(parts), re.DOTALL)


#: No disk has more.
_MOST_BYTES = 1 << 63
#: Parameters in which an engine says something in its own words.
_REASONS = ("why", "how", "differs")
#: Those that are kinds of entries.
_KINDS = ("kind", "other_kind")
#: Parameters whose numbers are names of something, or exactly what somebody wrote: all others are
#: counts, and written 12,000.
_NAMES = frozenset(
    {"pid", "line", "column", "offset", "character", "status", "signal", "port", "version", "code",
     "value", "text", "token", "setting"}
)  # fmt: skip


@contextlib.contextmanager
def failing_as(code: str, **params: object) -> Iterator[None]:
    """What the system refuses is raised as UserError(code), with its reason as ``why``."""
    try:
        yield
    except OSError as e:
        raise user_error(code, {**params, "why": e.strerror or str(e)}) from e


class UserError(Exception):
    """What happened, why, and what the user can do about it."""

    def __init__(
        self,
        what: str,
        why: str = "",
        remedy: str = "",
        *,
        code: str = "",
        params: Mapping[str, object] | None = None,
    ) -> None:
        # What was typed may be a mistyped address with a password in it, and an error is read by
        # others: on a terminal, in a log, in the history of jobs.
        what, why, remedy = map(without_logins, (what, why, remedy))
        # It is one line: a name with several would say something of its own in the next.
        what = printable(what, len(what))
        super().__init__(what)
        self.what = what
        self.why = why
        self.remedy = remedy
        self.code = code
        self.params = {
            name: without_logins(value) if isinstance(value, str) else value
            for name, value in (params or {}).items()
        }

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.remedy) if part)


#: Why a device was chosen, by the code that ``torchkeeper.warm.job`` gives.
_DEVICE_REASONS: dict[str, Text] = {
    "asked": "as asked",
    "accelerator": "the accelerator that torch sees",
    "no-accelerator": "this torch sees no GPU here, so it compiles for the CPU",
    "no-triton": "there is a GPU, but no Triton that can compile for it",
}


def device_reason(code: object) -> str:
    """Why a device was chosen; empty where that is not known."""
    return tr(_DEVICE_REASONS.get(str(code), ""))


#: What a process has open, or mapped: other files; or those of one entry, or of several.
_OTHER: tuple[Text, Text] = (
    "{who} has other files of this folder open.",
    "{who} has other files of this folder mapped.",
)
_HAS: tuple[Nouns, Nouns] = (
    ("{who} has files of one entry open.", "{who} has files of {n} entries open."),
    ("{who} has files of one entry mapped.", "{who} has files of {n} entries mapped."),
)


def user_of_place(user: Using) -> str:
    """What a process has to do with a folder (engine/operations.py, ``in_use``), in a sentence."""
    name, many = printable(user["name"], 80), user["entries"]
    who = tr("{name} (process {pid})", name=name, pid=str(user["pid"]))
    if user["holds_all"]:
        return tr("{who} runs with this folder as its cache and may need any entry next.", who=who)
    if user["why"] == "environment":
        return tr("{who} merely has this folder in its environment.", who=who)
    mapped = user["why"] == "mapped"
    return several(many, *_HAS[mapped], who=who) if many else tr(_OTHER[mapped], who=who)


def removed_by_then(removed: Mapping[str, object]) -> str:
    """How much a purge that ended early has removed for good, or moved to the trash."""
    of, size = removed.get("of"), removed.get("bytes")
    if not (isinstance(of, Mapping) and isinstance(size, int)):
        return ""
    shown = {"some": say.part_of(removed, of), "size": say.size(size)}
    if removed.get("trash"):
        return tr("Moved to the trash by then: {some}, {size}.", **shown)
    sure = removed.get("sure")
    return tr(
        "Removed by then: {some}, {size}." if sure else "Removed by then: at least {some}, {size}.",
        **shown,
    )


def not_looked_at(count: int) -> str:
    """That not everything on a server could be looked at to see what needs an entry."""
    return tr("about {n} entries were not looked at", n=count)


def unseen_users(in_use: InUse) -> str:
    """What cannot be known of the processes that use a folder, or nothing."""
    if in_use["sees"] == "none":
        return tr("Whether a process uses this folder cannot be known on this system.")
    if in_use["sees"] == "own":
        return tr(
            "Whether another user's process uses this folder cannot be known: /proc hides them."
        )
    if not (hidden := in_use["hidden"]):
        return ""
    return several(
        hidden,
        "One process cannot be looked into; whether it uses this folder cannot be known.",
        "{n} processes cannot be looked into, being another user's; "
        "whether they use this folder cannot be known.",
    )


def waiting_for(said: Mapping[str, object]) -> str:
    """That a server is waited for (stores/redis/connecting.py, ``waiting``), and why."""
    params = said.get("params")
    error = user_error(str(said.get("code")), params if isinstance(params, dict) else {})
    return tr("{what} Waiting until it is back…", what=error.what)


def leftovers_gone(told: Mapping[str, object]) -> str:
    """That something was removed which an earlier export had left (stores/folders/locks.py)."""
    much = _size(told.get("bytes")) or tr("some files")
    return tr("Removed what an export that was cut off had left: {much}.", much=much)


def _size(value: object) -> str:
    """Bytes that there can be; else empty."""
    return say.size(value) if isinstance(value, int) and 0 <= value < _MOST_BYTES else ""


class _Shown(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def user_error(code: str, params: Mapping[str, object]) -> UserError:
    """The words for a code. An unknown code is said as such, with its parameters."""
    return words_for(CATALOGUE, code, params)


def words_for(catalogue: Mapping[str, Words], code: str, params: Mapping[str, object]) -> UserError:
    """As ``user_error``, with the words of this catalogue."""
    if (words := catalogue.get(code)) is None:
        said = printable(", ".join(f"{k}={v}" for k, v in params.items()), 2000)
        return UserError(tr("The engine reported “{code}”.", code=printable(code)), said, code=code)
    shown = _Shown({k: _shown(k, v) for k, v in params.items()})
    if "place" in shown:  # in a command it is pasted into a shell
        shown.setdefault("quoted", shlex.quote(shown["place"]))
    if "problem" in shown:
        shown["problem"] = _within(shown["problem"], shown)
    if "expected" in shown:
        shown["expected"] = expectation(shown["expected"], shown.get("found", ""), shown)
    return UserError(*(_filled(one, params, shown) for one in words), code=code, params=params)


def template(text: str | Forms, params: Mapping[str, object]) -> str:
    """A template in the language that is used, in the form that goes with these parameters."""
    if isinstance(text, str):
        return tr(text)
    return form(sum(_numbers(text, params).values()), text.one, text.many)


def _numbers(text: Forms, params: Mapping[str, object]) -> dict[str, int]:
    every = {name: params.get(name) for name in text.of.split("+")}
    return {name: value for name, value in every.items() if isinstance(value, int)}


def _filled(text: str | Forms, params: Mapping[str, object], shown: Mapping[str, str]) -> str:
    said = template(text, params)
    if isinstance(text, str):
        return said.format_map(shown)
    counted = {name: f"{value:,}" for name, value in _numbers(text, params).items()}
    return said.format_map(_Shown({**shown, **counted}))


def _shown(name: str, value: object) -> str:
    if name.endswith("_bytes"):
        return _size(value) or tr("less")
    if type(value) is int and name not in _NAMES:
        return f"{value:,}"
    if name in _KINDS:
        value = say.called(value)
    shown = "" if value is None else printable(str(value))
    return reworded(shown) if name in _REASONS else shown


def _within(problem: str, shown: Mapping[str, str]) -> str:
    """The words for a code, within a sentence that names the server; an unknown one as it is."""
    words = CATALOGUE.get(problem)
    named = _Shown({"server": tr("it"), **shown})
    what = _filled(words.what, {}, named) if words else problem
    return what[:1].lower() + what[1:].rstrip(".")


#: Characters of a name, at most, that are shown of it.
SHORT = 400


def printable(text: str, limit: int = SHORT) -> str:
    """The text with control and undecodable characters made visible, and cut to ``limit``."""
    safe = text[: limit + 1]
    if not safe.isprintable():  # most are, and there are many
        safe = "".join(
            c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
            for c in safe
        )
    return safe if len(text) <= limit else safe[:limit] + "…"


def visible(text: str) -> str:
    """Lines of text as ``printable`` has each, however long they are."""
    if text.isprintable():
        return text
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else printable(line, len(line)) for line in lines)
