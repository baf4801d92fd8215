"""The words for secrets and private facts that were found in entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, tr

if TYPE_CHECKING:
    from torchkeeper.artifacts.leaked import Private, Secret

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
    if found["file"] == "key":
        said = tr(
            "{secret} in the key {key} of kind {kind}",
            secret=secret(found),
            key=key,
            kind=_kind(found),
        )
        return _excerpt(found, said)
    said = tr(
        "{secret} in {file}, byte {offset}",
        secret=secret(found),
        file=f"{_kind(found)} {key}",
        offset=found["offset"],
    )
    return _excerpt(found, _times(found, said))


def _kind(found: Secret) -> str:
    return printable(say.called(found["kind"]), 40)


def _times(found: Secret, said: str) -> str:
    if found["times"] > 1:
        return tr("{secret}, {n} times", secret=said, n=found["times"])
    return said


def _excerpt(found: Secret, said: str) -> str:
    excerpt = printable(found["excerpt"], 120)
    said = f"{said}: {excerpt}" if excerpt and excerpt != "…" else said
    return said if found["redactable"] else tr("{secret} (cannot be redacted)", secret=said)


def of_entry(found: Secret) -> str:
    """The same, of an entry that needs no name: what it is, where, and what stands there, with
    dots for the secret.
    """
    file = printable(found["file"], 60)
    if found["file"] == "key":
        said = tr("{secret} in its key", secret=secret(found))
    else:
        offset = found["offset"]
        said = tr(
            "{secret} in {file}, byte {offset}", secret=secret(found), file=file, offset=offset
        )
    return _excerpt(found, _times(found, said))


def in_one(facts: Iterable[Private]) -> list[str]:
    """Private facts of one entry, a line for each sort of them."""
    return [_line(what, some, _value) for what, some in _sorted(facts).items()]


def private(facts: Iterable[Private]) -> list[str]:
    """Private facts, a line for each sort of them."""
    return [_line(what, some, _named) for what, some in _sorted(facts).items()]


def _sorted(facts: Iterable[Private]) -> dict[str, list[Private]]:
    sorts: dict[str, list[Private]] = {}
    for one in facts:
        sorts.setdefault(one["what"], []).append(one)
    return sorts


def _line(what: str, some: Sequence[Private], said_as: Callable[[Private], str]) -> str:
    words = _FACTS.get(what, _FACTS[""])
    return f"{say.count(len(some), *words)}: {say.together([said_as(one) for one in some], _NAMED)}"


def _value(one: Private) -> str:
    return printable(one["value"], 80)


def _named(one: Private) -> str:
    return f"{_value(one)} ({say.count(one['entries'], 'entry', 'entries')})"
