"""The words for what of a place would be able to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchkeeper.link import say
from torchkeeper.link.words import printable

#: Strange names that are listed on one line.
_NAMED = 6


def strange(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Of what an engine said (engine.runnable), the names that PyTorch never writes."""
    return [one for one in _rows(found, "globals") if one.get("strange")]


def kinds(found: Mapping[str, Any]) -> list[str]:
    """What could run, a text for each kind: “code: 32 sources, 25 objects”."""
    said = []
    for one in _rows(found, "kinds"):
        parts = [
            say.count(_number(one, field), *words)
            for field, words in (
                ("pickles", ("pickle", "pickles")),
                ("sources", ("source", "sources")),
                ("objects", ("object", "objects")),
                ("unread", ("entry that could not be read", "entries that could not be read")),
            )
            if _number(one, field)
        ]
        if parts:
            said.append(f"{one.get('kind')}: {', '.join(parts)}")
    return said


def names(found: Mapping[str, Any]) -> str:
    """What the pickles name, and what of it is strange."""
    every, odd = _rows(found, "globals"), strange(found)
    if not every:
        return "no class or function"
    said = say.count(len(every), "class or function", "classes and functions")
    if not odd:
        said += ", all of which PyTorch uses"
    else:
        listed = ", ".join(f"{_name(one)} ({_where(one)})" for one in odd[:_NAMED])
        more = f" and {len(odd) - _NAMED:,} more" if len(odd) > _NAMED else ""
        said += f", {len(odd):,} of which PyTorch never uses: {listed}{more}"
    return said + ("; there may be others" if found.get("more") else "")


def lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Both, with what each is called."""
    return [("runs", "; ".join(kinds(found)) or "nothing"), ("names", names(found))]


def warning(found: Mapping[str, Any]) -> str:
    """What is to be said where something is strange; empty where nothing is."""
    odd = strange(found)
    if not odd:
        return ""
    listed = ", ".join(map(_name, odd[:_NAMED]))
    return f"PyTorch never writes what is named here: {listed}. Somebody else has put it there."


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
    more = f" and {count - 1:,} more" if count > 1 else ""
    return printable(f"{kind} {one.get('key')}{more}", 100)
