"""The words for who else can change what lies in a folder (folders.owners), on a server
(redis.server) or what an interpreter runs: what it is, why it matters, and what to do.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import Nouns, Text, several, tr

if TYPE_CHECKING:
    from torchkeeper.stores import shapes as types
    from torchkeeper.stores.shapes import Who, Writer

#: What has PyTorch use another folder; with the second its default one is another, too.
_OWN = 'export TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"'
_OWN_DEFAULT = 'mkdir -p -m 700 "$HOME/.cache/tmp" && export TMPDIR="$HOME/.cache/tmp"'
_OWN_FOLDER: Text = "Use a folder of your own: {command}"
_BELONG: Nouns = ("{counts} in {place} belongs to {who}.", "{counts} in {place} belong to {who}.")
_FOR_TEAM: Text = "{who} can change what runs in programs that use this cache."
_MEANT: Text = "In a shared cache of a team, that is intended."
_AS_YOU: Text = (
    "PyTorch runs what lies in its cache: whoever may write there can run programs as you."
)
_HEADERS: Text = (
    "It also takes precompiled C++ headers from there, whatever TORCHINDUCTOR_CACHE_DIR names."
)
#: So much of what others can change of an interpreter is named.
_MOST = 4


class Owned(NamedTuple):
    """One finding in words. command: what mends it, a part of ``remedy``, too. short: ``what`` in a
    few words, without a subject. grave: it is a warning, else perhaps meant. filter: what shows its
    entries, if it has some. server: it is about one.
    """

    what: str
    why: str
    remedy: str
    command: str
    short: str
    grave: bool
    filter: str = ""
    server: bool = False

    @property
    def error(self) -> UserError:
        return UserError(self.what, self.why, self.remedy, code="owned")


#: What, why, remedy, command and short of ``Owned``.
_Said = tuple[str, str, str, str, str]


def told(found: Sequence[types.Owned] | None) -> list[Owned]:
    """The findings in words, warnings first; without what only a newer engine finds."""
    said: list[Owned] = []
    for one in found or ():
        if (words := _WORDS.get(one["what"])) is not None:
            some, server = "is:foreign" if words is _entries else "", words is _of_server
            said.append(Owned(*words(one), one["grave"], some, server))
    return sorted(said, key=lambda one: not one.grave)


def grave(found: Sequence[types.Owned] | None) -> list[Owned]:
    return [one for one in told(found) if one.grave]


def short(found: Sequence[types.Owned] | None) -> str:
    """All of them in a few words: ``belongs to bob, the group ml may write to it``."""
    return ", ".join(dict.fromkeys(one.short for one in told(found)))


def to_json(found: Sequence[types.Owned]) -> list[dict[str, object]]:
    """The findings with their words, for programs; ``code`` says what each is."""
    return [{"code": x["what"], **x, **words._asdict()} for x in found for words in told([x])]


def of_interpreter(python: str, found: Sequence[Writer]) -> UserError:
    """That others can change what runs when an interpreter is started, from its ``writers``."""
    said = []
    for one in found[:_MOST]:
        shown = {"path": printable(one["path"]), "who": _named(one["who"])}
        may = _sentences(tr("{who} may write to {path}.", **shown))
        said.append(tr("{path} belongs to {who}.", **shown) if one["owned"] else may)
    if more := len(found) - len(said):
        said.append(several(more, "And {n} more.", "And {n} more."))
    hints = dict.fromkeys(hint for one in found if (hint := _hint(one["who"])))
    return UserError(
        tr("Others can change what {python} runs.", python=printable(python, 4096)),
        "\n".join([*said, tr("They can run programs as you when you start it."), *hints]),
        tr("Start it only if you trust them; else name an interpreter of your own."),
        code="interpreter-of-others",
    )


def _named(who: Who) -> str:
    if who["kind"] == "all":
        return tr("everybody")
    group = who["kind"] == "group"
    if name := who["name"] and printable(who["name"], 80):
        return tr("the group {name}", name=name) if group else name
    number = tr("number {number}", number=str(who["number"]))
    if group:
        return tr("a group without a name ({number})", number=number)
    return tr("a user without a name ({number})", number=number)


def _hint(who: Who) -> str:
    if who["name"]:
        return ""
    return tr("In a container, this may be you with another number; then all is well.")


def _elsewhere(one: types.Owned) -> str:
    """The command with which PyTorch uses a folder of one's own."""
    return _OWN_DEFAULT if one.get("default") else _OWN


def _headers(one: types.Owned) -> str:
    return tr(_HEADERS) if one.get("default") and one["grave"] else ""


def _text(one: types.Owned, name: str) -> str:
    return printable(str(one.get(name) or ""))


def _quoted(path: object) -> str:
    """A path for a shell of its machine."""
    from torchkeeper.stores.names import scheme_of  # only here: every command loads this module
    from torchkeeper.stores.ssh import parse

    name = str(path)
    there = parse(name).path if scheme_of(name).elsewhere else name
    home = "~/" if there != name and there.startswith("~/") else ""
    return printable(home + shlex.quote(there.removeprefix(home)), 4096)


def _sentences(*said: str) -> str:
    """Those that there are, the first letter of each a capital."""
    return " ".join(one[0].upper() + one[1:] for one in said if one)


#: What belongs to somebody, why that matters, what to do, and the first in short.
_BELONGS: dict[str, tuple[Text, Text, Text, Text]] = {
    "taken": (
        "{place}, where PyTorch looks for your cache, belongs to {who}.",
        "PyTorch runs what lies in its cache, so {who} can run programs as you.",
        "Let PyTorch use a folder of your own: {command}",
        "belongs to {who}",
    ),
    "owner": (
        "{place} belongs to {who}.",
        "PyTorch runs what lies in a cache: whoever uses this one runs what {who} puts there.",
        "If you do not trust that, use a folder of your own: {command}",
        "belongs to {who}",
    ),
    "link": (
        "{place} is a link that belongs to {who}.",
        "{who} can point it to another folder at any time, and PyTorch runs what lies there.",
        "Name the folder itself, or use one of your own: {command}",
        "its link belongs to {who}",
    ),
    "above": (
        "{path}, which holds {place}, belongs to {who}.",
        "{who} can put another folder in its place, and PyTorch runs what lies there.",
        _OWN_FOLDER,
        "the folder it is in belongs to {who}",
    ),
}
_LINK_ABOVE: Text = "{path}, on the way to {place}, is a link that belongs to {who}."


def _belongs(one: types.Owned) -> _Said:
    code, command = one["what"], _elsewhere(one)
    what, why, remedy, short = _BELONGS[code]
    shown = {name: _text(one, name) for name in ("place", "path")} | {"who": _named(one["who"])}
    if code == "link" and shown["path"] != shown["place"]:
        what = _LINK_ABOVE
    among = code == "taken" or (code == "owner" and one["grave"])
    everybody = tr("Everybody may make folders in {folder}.", folder=_text(one, "among"))
    headers = "" if code == "owner" else _headers(one)
    reason = _sentences(everybody if among else "", tr(why, **shown), headers, _hint(one["who"]))
    return tr(what, **shown), reason, tr(remedy, command=command), command, tr(short, **shown)


def _above(one: types.Owned) -> _Said:
    if one.get("owned"):
        return _belongs(one)
    who, path, place = _named(one["who"]), _text(one, "path"), _text(one, "place")
    command, remedy = _mending(one, f"chmod go-w {_quoted(one.get('path'))}")
    may = tr("{who} may write to {path}, which holds {place}.", who=who, path=path, place=place)
    why = tr("So they can put another folder in its place, and PyTorch runs what lies there.")
    short = tr("{who} may write to the folder it is in", who=who)
    return _sentences(may), _sentences(why, _headers(one)), remedy, command, short


def _mending(one: types.Owned, command: str) -> tuple[str, str]:
    """The command that takes a right away, or leads around it, and the sentence it is in."""
    if not one.get("mine"):
        return _elsewhere(one), tr(_OWN_FOLDER, command=_elsewhere(one))
    if one["grave"]:
        return command, tr("Forbid that: {command}", command=command)
    return command, tr("If that is not intended, forbid it: {command}", command=command)


def _writable(one: types.Owned) -> _Said:
    who, where = _named(one["who"]), _text(one, "place")
    folders, files = one["folders"], one["files"]
    if (folders, files) != (1, 0):
        where = tr("{counts} of {place}", counts=_counted(folders, files), place=where)
    sticky, said = one.get("sticky"), {"who": who, "where": where}
    may = tr("{who} may add files to {where}." if sticky else "{who} may write to {where}.", **said)
    why = [tr(_AS_YOU)] if one["grave"] else [tr(_FOR_TEAM, who=who), tr(_MEANT)]
    if not one.get("mine"):
        why.append(_headers(one))
    command, remedy = _mending(one, f"chmod -R go-w {_quoted(one.get('root'))}")
    if one.get("mine") and one["grave"]:
        remedy += "\n" + tr("Use umask 022 in the programs that fill it.")
    return _sentences(may), _sentences(*why), remedy, command, tr("{who} may write to it", who=who)


def _counted(folders: int, files: int) -> str:
    some = [say.count(folders, "folder", "folders")] if folders else []
    some += [say.count(files, "file", "files")] if files else []
    return say.together(some) or tr("nothing")


def _entries(one: types.Owned) -> _Said:
    folders, files, users = one["folders"], one["files"], one["users"]
    whose = _named(one["who"])
    short = tr("holds files of {who}", who=whose)
    if users != 1:
        short = several(users, "holds files of {n} user", "holds files of {n} others")
    if users > 1:
        names = [f"{_named(who)} ({count:,})" for who, count in one["owners"]]
        named = ", ".join([*names, "…"] if users > len(names) else names)
        whose = tr("{n} other users: {names}", n=str(users), names=named)
    place = printable(shlex.quote(str(one.get("place"))), 4096)
    command = f"torchkeeper purge {place} --filter is:foreign"
    shown = {"counts": _counted(folders, files), "place": _text(one, "place"), "who": whose}
    why = tr("PyTorch runs what lies in a cache: whoever uses this one runs what they put there.")
    remedy = tr("Purge what you do not trust: {command}", command=command)
    what = several(folders + files, *_BELONG, **shown)
    return what, _sentences(why, _hint(one["who"])), remedy, command, short


def _trash(one: types.Owned) -> _Said:
    who, command = _named(one["who"]), _elsewhere(one)
    remedy = tr(_OWN_FOLDER, command=command)
    if one.get("mine"):
        command = f"rm -r {_quoted(one.get('path'))}"
        remedy = tr("Look at what is in it, then remove it: {command}", command=command)
    why = tr("Whoever made it can change what lies in it, so Torchkeeper does not use it.")
    what = tr("The trash in {place} belongs to {who}.", place=_text(one, "place"), who=who)
    short = tr("its trash belongs to {who}", who=who)
    return what, _sentences(why, _hint(one["who"])), remedy, command, short


#: The same of servers; of the reasons those that always hold.
_SERVERS: dict[str, tuple[Text, tuple[Text, ...], Text, Text]] = {
    "server-open": (
        "Everybody who reaches {place} may write to it.",
        ("It wants no password.",),
        "Set a password (requirepass or ACL in its redis.conf), and give that in "
        "TORCHKEEPER_REDIS_PASSWORD. If nobody else uses it, bind it to 127.0.0.1: {command}",
        "wants no password",
    ),
    "server-bare": (
        "PyTorch and Triton go to {place} without a password.",
        (
            "If it wants none, everybody who reaches it may write to it.",
            "If it wants one, they cannot use it.",
        ),
        "Ask it: {command}",
        "is used without a password",
    ),
    "server-plain": (
        "{place} is reached without TLS.",
        ("Others on the network can read its password, and change what is sent.",),
        "Turn TLS on (tls-port in its redis.conf) and use a rediss:// address, or use a tunnel: "
        "{command}",
        "is reached without TLS",
    ),
    "socket-open": (
        "{who} may write to the socket {path}.",
        ("It wants no password.",),
        "Set a password, or unixsocketperm 700 in its redis.conf: {command}",
        "{who} may write to its socket",
    ),
}
_ON_MACHINE: Text = "Everybody on this machine may write to {place}."
_UNTOLD: Text = "It does not say whether other machines reach it."
_CODE: Text = (
    "PyTorch runs what lies in its cache: whoever can write there runs code as everybody who uses "
    "it."
)


def _of_server(one: types.Owned) -> _Said:
    code, port, host = one["what"], str(one.get("port")), _quoted(one.get("host"))
    what, reasons, remedy, short = _SERVERS[code]
    shown = {"place": _text(one, "place"), "path": _text(one, "path")}
    why, hint = [tr(text) for text in reasons], ""
    if code == "server-open":
        if one["reach"] == "machine":
            what = _ON_MACHINE
        if one.get("all"):
            why.append(tr("It answers on all its addresses, and its protected mode is off."))
        if one["reach"] == "unknown":
            why.append(tr(_UNTOLD))
        client = ["redis-cli", "-h", host, "-p", port]
        command = " ".join([*client, "CONFIG", "SET", "requirepass", "PASSWORD"])
    elif code == "server-bare":
        command = f"torchkeeper server {_quoted(one.get('place'))}"
    elif code == "server-plain":
        command = f"ssh -L 6379:127.0.0.1:{port} {host}"
    else:
        command = f"chmod go-w {_quoted(one.get('path'))}"
        shown["who"], hint = _named(one["who"]), _hint(one["who"])
    said = _sentences(tr(what, **shown)) if code == "socket-open" else tr(what, **shown)
    reason = _sentences(*why, tr(_CODE), hint)
    return said, reason, tr(remedy, command=command), command, tr(short, **shown)


_WORDS: dict[str, Callable[[types.Owned], _Said]] = {
    "taken": _belongs, "owner": _belongs, "link": _belongs, "above": _above, "writable": _writable,
    "entries": _entries, "trash": _trash, **dict.fromkeys(_SERVERS, _of_server),
}  # fmt: skip
