"""The words for secrets and private facts that were found in entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchkeeper.link import say
from torchkeeper.link.words import printable

#: What private facts are called, one and several.
_FACTS = {
    "home": ("home folder", "home folders"),
    "user": ("user name", "user names"),
    "host": ("name of a machine", "names of machines"),
    "source": ("source file with its lines", "source files with their lines"),
}
_FORMS = {
    "quoted": "quoted as in a URL",
    "escaped": "escaped",
    "hex": "in hexadecimal",
    "base64": "in base64",
}
#: Values that are named on one line.
_NAMED = 4


def secret(found: Mapping[str, Any]) -> str:
    """What a finding ``secret`` is: “the password in a redis address”."""
    what, name = found.get("what"), printable(str(found.get("name")), 80)
    if what == "url-password":
        return f"the password in a {name} address"
    if what == "url-token":
        return f"a token in a {name} address"
    if what == "private-key":
        return "a private key"
    if what == "token":
        article = "an" if name[:1] in "AEIOU" and not name.startswith("A J") else "a"
        return f"{article} {name} token" if name else "a token"
    if what == "again":
        form = _FORMS.get(name)
        return f"one of these secrets again, {form}" if form else "one of these secrets again"
    return f"the value of {name}"


def line(found: Mapping[str, Any], brief: bool = False) -> str:
    """A finding ``secret`` on one line, with where it is; ``brief``: with the key's beginning."""
    key = printable(str(found.get("key")), 60)
    key = f"{key[:12]}…" if brief and len(key) > 13 else key
    times = found.get("times")
    more = f", {times:,} times" if isinstance(times, int) and times > 1 else ""
    where = f"{found.get('kind')} {key}, byte {found.get('offset'):,}{more}"
    if found.get("file") == "key":
        where = f"the key {key} of kind {found.get('kind')}"
    fixed = "" if found.get("redactable") else " (cannot be redacted)"
    excerpt = printable(str(found.get("excerpt")), 120)
    shown = f": {excerpt}" if excerpt and excerpt != "…" else ""
    return f"{secret(found)} in {where}{shown}{fixed}"


def of_entry(found: Mapping[str, Any]) -> str:
    """The same, of an entry that needs no name: what it is, where, and what stands there, with
    dots for the secret.
    """
    file = printable(str(found.get("file")), 60)
    where = "its key" if found.get("file") == "key" else f"{file}, byte {found.get('offset'):,}"
    times = found.get("times")
    more = f", {times:,} times" if isinstance(times, int) and times > 1 else ""
    excerpt = printable(str(found.get("excerpt")), 120)
    shown = f": {excerpt}" if excerpt and excerpt != "…" else ""
    fixed = "" if found.get("redactable") else " (cannot be redacted)"
    return f"{secret(found)} in {where}{more}{shown}{fixed}"


def in_one(facts: object) -> list[str]:
    """Private facts of one entry, a line for each sort of them."""
    return [_line(what, some, _value) for what, some in _sorted(facts).items()]


def private(facts: object) -> list[str]:
    """Private facts, a line for each sort of them."""
    return [_line(what, some, _named) for what, some in _sorted(facts).items()]


def _sorted(facts: object) -> dict[str, list[Mapping[str, Any]]]:
    sorts: dict[str, list[Mapping[str, Any]]] = {}
    for one in facts if isinstance(facts, list) else []:
        if isinstance(one, Mapping):
            sorts.setdefault(str(one.get("what")), []).append(one)
    return sorts


def _line(
    what: str, some: Sequence[Mapping[str, Any]], said_as: Callable[[Mapping[str, Any]], str]
) -> str:
    named = ", ".join(map(said_as, some[:_NAMED]))
    more = f" and {len(some) - _NAMED:,} more" if len(some) > _NAMED else ""
    words = _FACTS.get(what, ("private fact", "private facts"))
    return f"{say.count(len(some), *words)}: {named}{more}"


def _value(one: Mapping[str, Any]) -> str:
    return printable(str(one.get("value")), 80)


def _named(one: Mapping[str, Any]) -> str:
    count = one.get("entries")
    entries = say.count(count if isinstance(count, int) else 0, "entry", "entries")
    return f"{_value(one)} ({entries})"
