"""The words for what of a place would be able to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.say import called
from torchkeeper.client.words.tongue import Nouns, tr

if TYPE_CHECKING:
    from torchkeeper.engine.messages.entries import RunnableName, RunnableResult

#: Strange names that are listed on one line.
_NAMED = 6
#: What of an entry could run.
_KINDS: dict[Literal["pickles", "sources", "objects", "unread"], Nouns] = {
    "pickles": ("pickle", "pickles"),
    "sources": ("source", "sources"),
    "objects": ("object", "objects"),
    "unread": ("entry that could not be read", "entries that could not be read"),
}


def strange(found: RunnableResult) -> list[RunnableName]:
    """Of what an engine said (engine.runnable), the names that PyTorch never writes."""
    return [one for one in found["globals"] if one["strange"]]


def kinds(found: RunnableResult) -> list[str]:
    """What could run, a text for each kind: “code: 32 sources, 25 objects”."""
    said = []
    for one in found["kinds"]:
        parts = [say.count(one[field], *words) for field, words in _KINDS.items() if one[field]]
        if parts:
            said.append(f"{called(one['kind'])}: {say.together(parts)}")
    return said


def names(found: RunnableResult) -> str:
    """What the pickles name, and what of it is strange."""
    every, odd = found["globals"], strange(found)
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
    return tr("{names}; there may be others", names=said) if found["more"] else said


def lines(found: RunnableResult) -> list[tuple[str, str]]:
    """Both, with what each is called."""
    runs = "; ".join(kinds(found)) or tr("nothing")
    return [(tr("runs"), runs), (tr("names"), names(found))]


def warning(found: RunnableResult) -> str:
    """What is to be said where something is strange; empty where nothing is."""
    odd = strange(found)
    if not odd:
        return ""
    listed = say.together([_name(one) for one in odd], _NAMED)
    return tr(
        "PyTorch never writes what is named here: {names}. Somebody else has put it there.",
        names=listed,
    )


def _name(one: RunnableName) -> str:
    return printable(one["name"], 80)


def _where(one: RunnableName) -> str:
    key = f"{called(one['kinds'][0])} {one['key']}"
    return printable(say.and_more(key, one["entries"] - 1), 100)
