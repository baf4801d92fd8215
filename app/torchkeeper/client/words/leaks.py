"""The words for secrets and private facts found in entries, and for what of a place could run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, tr

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Private, Secret
    from torchkeeper.engine.messages.entries import RunnableName, RunnableResult

#: What private facts are called, one and several.
_FACTS: dict[str, Nouns] = {
    "home": ("home folder", "home folders"),
    "user": ("user name", "user names"),
    "host": ("name of a machine", "names of machines"),
    "source": ("source file with its lines", "source files with their lines"),
    "": ("private fact", "private facts"),
}
_FORMS: dict[str, Text] = {
    "quoted": "quoted as in a URL",
    "escaped": "escaped",
    "hex": "in hexadecimal",
    "base64": "in base64",
}
#: Values that are named on one line.
_NAMED = 4


def secret(found: Secret) -> str:
    """What a finding ``secret`` is: “the password in a redis address”."""
    what, name = found["what"], printable(found["name"], 80)
    if what == "url-password":
        return tr("the password in a {name} address", name=name)
    if what == "url-token":
        return tr("a token in a {name} address", name=name)
    if what == "private-key":
        return tr("a private key")
    if what == "token":
        if not name:
            return tr("a token")
        vowel = name[:1] in "AEIOU" and not name.startswith("A J")
        return tr("an {name} token" if vowel else "a {name} token", name=name)
    if what == "again":
        if name in _FORMS:
            return tr("one of these secrets again, {form}", form=tr(_FORMS[name]))
        return tr("one of these secrets again")
    return tr("the value of {name}", name=name)


def line(found: Secret, brief: bool = False) -> str:
    """A finding ``secret`` on one line, with where it is; ``brief``: with the key's beginning."""
    key = printable(found["key"], 60)
    key = f"{key[:12]}…" if brief and len(key) > 13 else key
    kind, what = printable(say.called(found["kind"]), 40), secret(found)
    if found["file"] == "key":
        in_key = tr("{secret} in the key {key} of kind {kind}", secret=what, key=key, kind=kind)
        return _excerpt(found, in_key)
    return _in_file(found, f"{kind} {key}")


def _in_file(found: Secret, file: str) -> str:
    about = {"secret": secret(found), "file": file, "offset": found["offset"]}
    return _excerpt(found, _times(found, tr("{secret} in {file}, byte {offset}", **about)))


def _times(found: Secret, said: str) -> str:
    times = found["times"]
    return tr("{secret}, {n} times", secret=said, n=times) if times > 1 else said


def _excerpt(found: Secret, said: str) -> str:
    excerpt = printable(found["excerpt"], 120)
    said = f"{said}: {excerpt}" if excerpt and excerpt != "…" else said
    return said if found["redactable"] else tr("{secret} (cannot be redacted)", secret=said)


def of_entry(found: Secret) -> str:
    """The same, of an entry that needs no name: what it is, where, and what stands there."""
    if found["file"] != "key":
        return _in_file(found, printable(found["file"], 60))
    return _excerpt(found, _times(found, tr("{secret} in its key", secret=secret(found))))


def private(facts: Iterable[Private], of_one: bool = False) -> list[str]:
    """Private facts, of several entries or ``of_one``, a line for each sort of them."""
    sorts: dict[str, list[str]] = {}
    for one in facts:
        entries = "" if of_one else f" ({say.count(one['entries'], 'entry', 'entries')})"
        sorts.setdefault(one["what"], []).append(f"{printable(one['value'], 80)}{entries}")
    return [
        f"{say.count(len(some), *_FACTS.get(what, _FACTS['']))}: {say.together(some, _NAMED)}"
        for what, some in sorts.items()
    ]


_ODD: Text = "{names}, {n} of which PyTorch never uses: {odd}"
_NONE_ODD: Text = "{names}, all of which PyTorch uses"
#: Strange names that are listed on one line.
_RUNNABLE_NAMED = 6
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
            said.append(f"{say.called(one['kind'])}: {say.together(parts)}")
    return said


def names(found: RunnableResult) -> str:
    every, odd = found["globals"], strange(found)
    if not every:
        return tr("no class or function")
    said = say.count(len(every), "class or function", "classes and functions")
    listed = say.together([_where(one) for one in odd], _RUNNABLE_NAMED)
    said = tr(_ODD if odd else _NONE_ODD, names=said, n=len(odd), odd=listed)
    return tr("{names}; there may be others", names=said) if found["more"] else said


def lines(found: RunnableResult) -> list[tuple[str, str]]:
    return [(tr("runs"), "; ".join(kinds(found)) or tr("nothing")), (tr("names"), names(found))]


def warning(found: RunnableResult) -> str:
    """What is to be said where something is strange; empty where nothing is."""
    if not (odd := strange(found)):
        return ""
    return tr(
        "PyTorch never writes what is named here: {names}. Somebody else has put it there.",
        names=say.together([_name(one) for one in odd], _RUNNABLE_NAMED),
    )


def _name(one: RunnableName) -> str:
    return printable(one["name"], 80)


def _where(one: RunnableName) -> str:
    where = say.and_more(f"{say.called(one['kinds'][0])} {one['key']}", one["entries"] - 1)
    return f"{_name(one)} ({printable(where, 100)})"
