"""The words for what of a place would be able to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchkeeper.link.words import say
from torchkeeper.link.words.kinds import called
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import Nouns, tr

#: Strange names that are listed on one line.
_NAMED = 6
#: What of an entry could run.
_KINDS: dict[str, Nouns] = {
    "pickles": ("pickle", "pickles"),
    "sources": ("source", "sources"),
    "objects": ("object", "objects"),
    "unread": ("entry that could not be read", "entries that could not be read"),
}


def strange(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Of what an engine said (engine.runnable), the names that PyTorch never writes."""
    return [one for one in _rows(found, "globals") if one.get("strange")]


def kinds(found: Mapping[str, Any]) -> list[str]:
    """What could run, a text for each kind: “code: 32 sources, 25 objects”."""
    said = []
    for one in _rows(found, "kinds"):
        parts = [
            say.count(_number(one, field), *words)
            for field, words in _KINDS.items()
            if _number(one, field)
        ]
        if parts:
            said.append(f"{called(one.get('kind'))}: {say.together(parts)}")
    return said


def names(found: Mapping[str, Any]) -> str:
    """What the pickles name, and what of it is strange."""
    every, odd = _rows(found, "globals"), strange(found)
    if not every:
        return tr("no class or function")
    said = say.count(len(every), "class or function", "classes and functions")
    if not odd:
        said = tr("{names}, all of which PyTorch uses", names=said)
    else:
        listed = say.together([f"{_name(one)} ({_where(one)})" for one in odd], _NAMED)
        said = tr(
            "{names}, {n} of which PyTorch never uses: {odd}", names=said, n=len(odd), odd=listed
        )
    return tr("{names}; there may be others", names=said) if found.get("more") else said


def lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Both, with what each is called."""
    runs = "; ".join(kinds(found)) or tr("nothing")
    return [(tr("runs"), runs), (tr("names"), names(found))]


def warning(found: Mapping[str, Any]) -> str:
    """What is to be said where something is strange; empty where nothing is."""
    odd = strange(found)
    if not odd:
        return ""
    listed = say.together([_name(one) for one in odd], _NAMED)
    return tr(
        "PyTorch never writes what is named here: {names}. Somebody else has put it there.",
        names=listed,
    )


def _rows(found: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = found.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _number(one: Mapping[str, Any], name: str) -> int:
    value = one.get(name)
    return value if isinstance(value, int) else 0


def _name(one: Mapping[str, Any]) -> str:
    return printable(str(one.get("name")), 80)


def _where(one: Mapping[str, Any]) -> str:
    held = one.get("kinds")
    kind = held[0] if isinstance(held, list) and held else "?"
    count = _number(one, "entries")
    return printable(say.and_more(f"{called(kind)} {one.get('key')}", count - 1), 100)
