"""The words for who else can change what lies in a folder (folders.owners): what it is, why it
matters, and what to do, with the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torchkeeper.link import say
from torchkeeper.link.words import UserError, printable

#: What has PyTorch use another folder; with the second its default one is another, too.
_OWN = 'export TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"'
_OWN_DEFAULT = 'mkdir -p -m 700 "$HOME/.cache/tmp" && export TMPDIR="$HOME/.cache/tmp"'
_HEADERS = (
    " It takes precompiled C++ headers from there, too, whatever TORCHINDUCTOR_CACHE_DIR names."
)
_NO_NAME = " In a container this may be you under another number; then nothing is wrong."


class Owned(NamedTuple):
    """One finding in words.

    command: what mends it, to be copied; also a part of ``remedy``. short: the same as ``what`` in
    a few words, without a subject. grave: it is a warning, else a fact that may be meant. filter:
    what shows the entries that it is about, if it is about some.
    """

    what: str
    why: str
    remedy: str
    command: str
    short: str
    grave: bool
    filter: str = ""

    @property
    def error(self) -> UserError:
        """The same, as all that is said of what is not as it should be."""
        return UserError(self.what, self.why, self.remedy, code="owned")


class _Said(NamedTuple):
    what: str
    why: str
    remedy: str
    command: str
    short: str


def told(found: object) -> list[Owned]:
    """The findings of an engine in words, those that are warnings first; what makes no sense is
    left out.
    """
    said: list[Owned] = []
    for one in found if isinstance(found, list) else []:
        words = _WORDS.get(str(one.get("what"))) if isinstance(one, dict) else None
        if words is not None:
            some = "is:foreign" if words is _entries else ""
            said.append(Owned(*words(one), grave=bool(one.get("grave")), filter=some))
    return sorted(said, key=lambda one: not one.grave)


def grave(found: object) -> list[Owned]:
    """Those that are warnings."""
    return [one for one in told(found) if one.grave]


def short(found: object) -> str:
    """All of them in a few words: ``belongs to bob, the group ml may write to it``."""
    return ", ".join(dict.fromkeys(one.short for one in told(found)))


def to_json(found: object) -> list[dict[str, Any]]:
    """The findings with their words, for programs; ``code`` says what each is."""
    raw = (
        {id(one): one for one in found if isinstance(one, dict)} if isinstance(found, list) else {}
    )
    return [
        {"code": one["what"], **one, **words._asdict()}
        for one in raw.values()
        for words in told([one])
    ]


def _who(one: Mapping[str, Any]) -> str:
    who = one.get("who")
    return _named(who if isinstance(who, dict) else {})


def _named(who: Mapping[str, Any]) -> str:
    kind, name, number = who.get("kind"), who.get("name"), who.get("number")
    if kind == "all":
        return "everybody"
    known = printable(str(name), 80) if name else f"number {number}"
    if kind == "group":
        return f"the group {known}" if name else f"a group without a name ({known})"
    return known if name else f"a user without a name ({known})"


def _hint(one: Mapping[str, Any]) -> str:
    who = one.get("who")
    return _NO_NAME if isinstance(who, dict) and not who.get("name") else ""


def _elsewhere(one: Mapping[str, Any]) -> str:
    """The command with which PyTorch uses a folder of one's own."""
    return _OWN_DEFAULT if one.get("default") else _OWN


def _headers(one: Mapping[str, Any]) -> str:
    return _HEADERS if one.get("default") and one.get("grave") else ""


def _text(one: Mapping[str, Any], name: str) -> str:
    return printable(str(one.get(name) or ""))


def _number(one: Mapping[str, Any], name: str) -> int:
    value = one.get(name)
    return value if isinstance(value, int) else 0


def _quoted(path: object) -> str:
    return printable(shlex.quote(str(path)), 4096)


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]


def _taken(one: Mapping[str, Any]) -> _Said:
    who = _who(one)
    return _Said(
        f"{_text(one, 'place')}, where PyTorch looks for your cache, belongs to {who}.",
        f"Everybody may make folders in {_text(one, 'among')}. PyTorch runs what lies in its "
        f"cache, so {who} can run programs as you.{_headers(one)}{_hint(one)}",
        f"Have PyTorch use a folder of your own: {_elsewhere(one)}",
        _elsewhere(one),
        f"belongs to {who}",
    )


def _owner(one: Mapping[str, Any]) -> _Said:
    who = _who(one)
    why = f"PyTorch runs what lies in a cache: whoever uses this one runs what {who} puts there."
    if one.get("grave"):
        why = f"Everybody may make folders in {_text(one, 'among')}. {why}"
    return _Said(
        f"{_text(one, 'place')} belongs to {who}.",
        f"{why}{_hint(one)}",
        f"If you do not trust that, use a folder of your own: {_elsewhere(one)}",
        _elsewhere(one),
        f"belongs to {who}",
    )


def _link(one: Mapping[str, Any]) -> _Said:
    who, path, place = _who(one), _text(one, "path"), _text(one, "place")
    way = f"{path}, on the way to {place}," if path != place else place
    return _Said(
        f"{way} is a link that belongs to {who}.",
        f"{_start(who)} can lead it to another folder at any time, and PyTorch runs what lies "
        f"there.{_headers(one)}{_hint(one)}",
        f"Name the folder itself, or use one of your own: {_elsewhere(one)}",
        _elsewhere(one),
        f"its link belongs to {who}",
    )


def _above(one: Mapping[str, Any]) -> _Said:
    who, path, place = _who(one), _text(one, "path"), _text(one, "place")
    why = "can put another folder in its place, and PyTorch runs what lies there."
    if one.get("owned"):
        return _Said(
            f"{path}, which holds {place}, belongs to {who}.",
            f"{_start(who)} {why}{_headers(one)}{_hint(one)}",
            f"Use a folder of your own: {_elsewhere(one)}",
            _elsewhere(one),
            f"the folder it is in belongs to {who}",
        )
    command, remedy = _mending(one, f"chmod go-w {_quoted(one.get('path'))}")
    return _Said(
        f"{_start(who)} may write to {path}, which holds {place}.",
        f"Whoever may {why}{_headers(one)}",
        remedy,
        command,
        f"{who} may write to the folder it is in",
    )


def _mending(one: Mapping[str, Any], command: str) -> tuple[str, str]:
    """The command that takes a right away, or leads around it, and the sentence it is in."""
    if not one.get("mine"):
        return _elsewhere(one), f"Use a folder of your own: {_elsewhere(one)}"
    first = "Take that right away" if one.get("grave") else "If that is not meant, take it away"
    return command, f"{first}: {command}"


def _writable(one: Mapping[str, Any]) -> _Said:
    who, place = _who(one), _text(one, "place")
    folders, files = _number(one, "folders"), _number(one, "files")
    counts = _counted(folders, files)
    where = f"{counts} of {place}" if (folders, files) != (1, 0) else place
    verb = "add files" if one.get("sticky") else "write"
    if one.get("grave"):
        why = (
            "PyTorch runs what lies in its cache: whoever may write there can run programs as you."
        )
    else:
        why = f"{_start(who)} can change what runs in programs that use this cache. Where a team "
        why += "shares one, that is meant."
    if not one.get("mine"):
        why += _headers(one)
    command, remedy = _mending(one, f"chmod -R go-w {_quoted(one.get('root'))}")
    if one.get("mine") and one.get("grave"):
        remedy += "\nWith umask 022 in the programs that fill it, it stays so."
    return _Said(
        f"{_start(who)} may {verb} to {where}.", why, remedy, command, f"{who} may write to it"
    )


def _counted(folders: int, files: int) -> str:
    some = [(folders, "folder", "folders"), (files, "file", "files")]
    return " and ".join(say.count(*one) for one in some if one[0]) or "nothing"


def _entries(one: Mapping[str, Any]) -> _Said:
    folders, files, users = (_number(one, name) for name in ("folders", "files", "users"))
    place = _text(one, "place")
    verb = "belongs" if folders + files == 1 else "belong"
    whose = _who(one)
    if users > 1:
        some = one.get("owners")
        listed = [x for x in (some if isinstance(some, list) else ()) if isinstance(x, list)]
        names = [f"{_named(x[0])} ({x[1]:,})" for x in listed
                 if len(x) == 2 and isinstance(x[0], dict) and isinstance(x[1], int)]  # fmt: skip
        whose = f"{users} other users: {', '.join(names)}" + (", …" if users > len(names) else "")
    command = f"torchkeeper purge {_quoted(one.get('place'))} --filter is:foreign"
    why = "PyTorch runs what lies in a cache: whoever uses this one runs what they put there."
    return _Said(
        f"{_counted(folders, files)} in {place} {verb} to {whose}.",
        f"{why}{_hint(one)}",
        f"Purge what you do not trust: {command}",
        command,
        f"holds files of {_who(one) if users == 1 else say.count(users, 'user', 'others')}",
    )


def _trash(one: Mapping[str, Any]) -> _Said:
    who = _who(one)
    command, remedy = _elsewhere(one), f"Use a folder of your own: {_elsewhere(one)}"
    if one.get("mine"):
        command = f"rm -r {_quoted(one.get('path'))}"
        remedy = f"Look at what is in it, then remove it: {command}"
    return _Said(
        f"The trash in {_text(one, 'place')} belongs to {who}.",
        f"Whoever made it can change what lies in it, so nothing is put back from there, and "
        f"nothing is purged into it.{_hint(one)}",
        remedy,
        command,
        f"its trash belongs to {who}",
    )


_WORDS: dict[str, Callable[[Mapping[str, Any]], _Said]] = {
    "taken": _taken, "owner": _owner, "link": _link, "above": _above, "writable": _writable,
    "entries": _entries, "trash": _trash,
}  # fmt: skip
