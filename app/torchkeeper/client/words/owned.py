"""The words for who else can change what lies in a folder (folders.owners), on a server
(redis.exposed) or what an interpreter runs: what it is, why it matters, and what to do, with the
command.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several, tr

if TYPE_CHECKING:
    from torchkeeper.stores import shapes as types
    from torchkeeper.stores.shapes import Who, Writer

#: What has PyTorch use another folder; with the second its default one is another, too.
_OWN = 'export TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"'
_OWN_DEFAULT = 'mkdir -p -m 700 "$HOME/.cache/tmp" && export TMPDIR="$HOME/.cache/tmp"'


#: So much of what others can change of an interpreter is named.
_MOST = 4


class Owned(NamedTuple):
    """One finding in words.

    command: what mends it, to be copied; also a part of ``remedy``. short: the same as ``what`` in
    a few words, without a subject. grave: it is a warning, else a fact that may be meant. filter:
    what shows the entries that it is about, if it is about some. server: it is about a server.
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
        """The same, as all that is said of what is not as it should be."""
        return UserError(self.what, self.why, self.remedy, code="owned")


class _Said(NamedTuple):
    what: str
    why: str
    remedy: str
    command: str
    short: str


def told(found: Sequence[types.Owned] | None) -> list[Owned]:
    """The findings of an engine in words, those that are warnings first; what only a newer engine
    finds is left out.
    """
    said: list[Owned] = []
    for one in found or ():
        if (words := _WORDS.get(one["what"])) is not None:
            some = "is:foreign" if words is _entries else ""
            server = words in _OF_SERVERS
            said.append(Owned(*words(one), grave=one["grave"], filter=some, server=server))
    return sorted(said, key=lambda one: not one.grave)


def grave(found: Sequence[types.Owned] | None) -> list[Owned]:
    """Those that are warnings."""
    return [one for one in told(found) if one.grave]


def short(found: Sequence[types.Owned] | None) -> str:
    """All of them in a few words: ``belongs to bob, the group ml may write to it``."""
    return ", ".join(dict.fromkeys(one.short for one in told(found)))


def to_json(found: Sequence[types.Owned]) -> list[dict[str, object]]:
    """The findings with their words, for programs; ``code`` says what each is."""
    return [
        {"code": one["what"], **one, **words._asdict()} for one in found for words in told([one])
    ]


def of_interpreter(python: str, found: Sequence[Writer]) -> UserError:
    """That others can change what runs when an interpreter is started, from its ``writers``."""
    said = [
        tr("{path} belongs to {who}.", path=printable(one["path"]), who=_named(one["who"]))
        if one["owned"]
        else _sentences(
            tr("{who} may write to {path}.", who=_named(one["who"]), path=printable(one["path"]))
        )
        for one in found[:_MOST]
    ]
    if more := len(found) - len(said):
        said.append(several(more, "And {n} more.", "And {n} more."))
    hints = dict.fromkeys(hint for one in found if (hint := _hint_of(one["who"])))
    return UserError(
        tr("Others can change what {python} runs.", python=printable(python, 4096)),
        "\n".join([*said, tr("Whoever does runs programs as you when it is started."), *hints]),
        tr("Start it only where you trust them; else name an interpreter of your own."),
        code="interpreter-of-others",
    )


def _who(one: types.Owned) -> str:
    return _named(one["who"])


def _named(who: Who) -> str:
    if who["kind"] == "all":
        return tr("everybody")
    number = str(who["number"])
    known = printable(who["name"], 80) if who["name"] else tr("number {number}", number=number)
    if who["kind"] == "group":
        if who["name"]:
            return tr("the group {name}", name=known)
        return tr("a group without a name ({number})", number=known)
    return known if who["name"] else tr("a user without a name ({number})", number=known)


def _hint(one: types.Owned) -> str:
    return _hint_of(one["who"])


def _hint_of(who: Who) -> str:
    if who["name"]:
        return ""
    return tr("In a container this may be you under another number; then nothing is wrong.")


def _elsewhere(one: types.Owned) -> str:
    """The command with which PyTorch uses a folder of one's own."""
    return _OWN_DEFAULT if one.get("default") else _OWN


def _own(one: types.Owned) -> str:
    """What to do where nothing else helps."""
    return tr("Use a folder of your own: {command}", command=_elsewhere(one))


def _headers(one: types.Owned) -> str:
    if not (one.get("default") and one["grave"]):
        return ""
    return tr(
        "It takes precompiled C++ headers from there, too, whatever TORCHINDUCTOR_CACHE_DIR names."
    )


def _text(one: types.Owned, name: str) -> str:
    return printable(str(one.get(name) or ""))


def _quoted(path: object) -> str:
    return printable(shlex.quote(str(path)), 4096)


def _sentences(*said: str) -> str:
    """Those that there are, the first letter of each a capital."""
    return " ".join(one[0].upper() + one[1:] for one in said if one)


def _taken(one: types.Owned) -> _Said:
    who = _who(one)
    return _Said(
        tr(
            "{place}, where PyTorch looks for your cache, belongs to {who}.",
            place=_text(one, "place"),
            who=who,
        ),
        _sentences(
            tr("Everybody may make folders in {folder}.", folder=_text(one, "among")),
            tr("PyTorch runs what lies in its cache, so {who} can run programs as you.", who=who),
            _headers(one),
            _hint(one),
        ),
        tr("Have PyTorch use a folder of your own: {command}", command=_elsewhere(one)),
        _elsewhere(one),
        tr("belongs to {who}", who=who),
    )


def _owner(one: types.Owned) -> _Said:
    who, among = _who(one), _text(one, "among")
    return _Said(
        tr("{place} belongs to {who}.", place=_text(one, "place"), who=who),
        _sentences(
            tr("Everybody may make folders in {folder}.", folder=among) if one["grave"] else "",
            tr(
                "PyTorch runs what lies in a cache: whoever uses this one runs what {who} puts "
                "there.",
                who=who,
            ),
            _hint(one),
        ),
        tr(
            "If you do not trust that, use a folder of your own: {command}", command=_elsewhere(one)
        ),
        _elsewhere(one),
        tr("belongs to {who}", who=who),
    )


def _link(one: types.Owned) -> _Said:
    who, path, place = _who(one), _text(one, "path"), _text(one, "place")
    return _Said(
        tr(
            "{place} is a link that belongs to {who}."
            if path == place
            else "{path}, on the way to {place}, is a link that belongs to {who}.",
            path=path,
            place=place,
            who=who,
        ),
        _sentences(
            tr(
                "{who} can lead it to another folder at any time, and PyTorch runs what lies "
                "there.",
                who=who,
            ),
            _headers(one),
            _hint(one),
        ),
        tr("Name the folder itself, or use one of your own: {command}", command=_elsewhere(one)),
        _elsewhere(one),
        tr("its link belongs to {who}", who=who),
    )


def _above(one: types.Owned) -> _Said:
    who, path, place = _who(one), _text(one, "path"), _text(one, "place")
    if one.get("owned"):
        return _Said(
            tr("{path}, which holds {place}, belongs to {who}.", path=path, place=place, who=who),
            _sentences(
                tr(
                    "{who} can put another folder in its place, and PyTorch runs what lies there.",
                    who=who,
                ),
                _headers(one),
                _hint(one),
            ),
            _own(one),
            _elsewhere(one),
            tr("the folder it is in belongs to {who}", who=who),
        )
    command, remedy = _mending(one, f"chmod go-w {_quoted(one.get('path'))}")
    may = tr("{who} may write to {path}, which holds {place}.", who=who, path=path, place=place)
    return _Said(
        _sentences(may),
        _sentences(
            tr(
                "Whoever may can put another folder in its place, and PyTorch runs what lies there."
            ),
            _headers(one),
        ),
        remedy,
        command,
        tr("{who} may write to the folder it is in", who=who),
    )


def _mending(one: types.Owned, command: str) -> tuple[str, str]:
    """The command that takes a right away, or leads around it, and the sentence it is in."""
    if not one.get("mine"):
        return _elsewhere(one), _own(one)
    if one["grave"]:
        return command, tr("Take that right away: {command}", command=command)
    return command, tr("If that is not meant, take it away: {command}", command=command)


def _writable(one: types.Owned) -> _Said:
    who, where = _who(one), _text(one, "place")
    folders, files = one["folders"], one["files"]
    if (folders, files) != (1, 0):
        where = tr("{counts} of {place}", counts=_counted(folders, files), place=where)
    may = tr(
        "{who} may add files to {where}." if one.get("sticky") else "{who} may write to {where}.",
        who=who,
        where=where,
    )
    if one["grave"]:
        why = [
            tr(
                "PyTorch runs what lies in its cache: whoever may write there can run programs as "
                "you."
            )
        ]
    else:
        why = [
            tr("{who} can change what runs in programs that use this cache.", who=who),
            tr("Where a team shares one, that is meant."),
        ]
    if not one.get("mine"):
        why.append(_headers(one))
    command, remedy = _mending(one, f"chmod -R go-w {_quoted(one.get('root'))}")
    if one.get("mine") and one["grave"]:
        remedy += "\n" + tr("With umask 022 in the programs that fill it, it stays so.")
    return _Said(
        _sentences(may),
        _sentences(*why),
        remedy,
        command,
        tr("{who} may write to it", who=who),
    )


def _counted(folders: int, files: int) -> str:
    some = [say.count(folders, "folder", "folders")] if folders else []
    some += [say.count(files, "file", "files")] if files else []
    return say.together(some) or tr("nothing")


def _entries(one: types.Owned) -> _Said:
    folders, files, users = one["folders"], one["files"], one["users"]
    whose = _who(one)
    if users > 1:
        names = [f"{_named(who)} ({count:,})" for who, count in one["owners"]]
        named = ", ".join([*names, "…"] if users > len(names) else names)
        whose = tr("{n} other users: {names}", n=str(users), names=named)
    command = f"torchkeeper purge {_quoted(one.get('place'))} --filter is:foreign"
    return _Said(
        several(
            folders + files,
            "{counts} in {place} belongs to {who}.",
            "{counts} in {place} belong to {who}.",
            counts=_counted(folders, files),
            place=_text(one, "place"),
            who=whose,
        ),
        _sentences(
            tr(
                "PyTorch runs what lies in a cache: whoever uses this one runs what they put there."
            ),
            _hint(one),
        ),
        tr("Purge what you do not trust: {command}", command=command),
        command,
        tr("holds files of {who}", who=_who(one))
        if users == 1
        else several(users, "holds files of {n} user", "holds files of {n} others"),
    )


def _trash(one: types.Owned) -> _Said:
    who = _who(one)
    command, remedy = _elsewhere(one), _own(one)
    if one.get("mine"):
        command = f"rm -r {_quoted(one.get('path'))}"
        remedy = tr("Look at what is in it, then remove it: {command}", command=command)
    return _Said(
        tr("The trash in {place} belongs to {who}.", place=_text(one, "place"), who=who),
        _sentences(
            tr(
                "Whoever made it can change what lies in it, so nothing is put back from there, "
                "and nothing is purged into it."
            ),
            _hint(one),
        ),
        remedy,
        command,
        tr("its trash belongs to {who}", who=who),
    )


def _code() -> str:
    return tr(
        "PyTorch runs what lies in its cache: whoever can write there runs code as everybody who "
        "uses it."
    )


def _server_open(one: types.Owned) -> _Said:
    place, reach = _text(one, "place"), one["reach"]
    what = {
        "network": tr("Everybody who reaches {place} may write to it.", place=place),
        "machine": tr("Everybody on this machine may write to {place}.", place=place),
    }.get(reach, tr("Everybody who reaches {place} may write to it.", place=place))
    client = ["redis-cli", "-h", _quoted(one.get("host")), "-p", str(one["port"])]
    command = " ".join([*client, "CONFIG", "SET", "requirepass", "PASSWORD"])
    return _Said(
        what,
        _sentences(
            tr("It wants no password."),
            tr("It answers on all its addresses, and its protected mode is off.")
            if one.get("all")
            else "",
            tr("Whether others than this machine reach it cannot be told: it does not say.")
            if reach == "unknown"
            else "",
            _code(),
        ),
        tr(
            "Have it want a password (requirepass or ACL in its redis.conf) and give that in "
            "TORCHKEEPER_REDIS_PASSWORD; bind it to 127.0.0.1 where nobody else uses it: {command}",
            command=command,
        ),
        command,
        tr("wants no password"),
    )


def _server_bare(one: types.Owned) -> _Said:
    command = f"torchkeeper server {_quoted(one.get('place'))}"
    return _Said(
        tr("PyTorch and Triton go to {place} without a password.", place=_text(one, "place")),
        _sentences(
            tr("Where it wants none, everybody who reaches it may write to it."),
            tr("Where it wants one, they use nothing of it."),
            _code(),
        ),
        tr("Ask it: {command}", command=command),
        command,
        tr("is used without a password"),
    )


def _server_plain(one: types.Owned) -> _Said:
    command = f"ssh -L 6379:127.0.0.1:{one['port']} {_quoted(one.get('host'))}"
    return _Said(
        tr("{place} is reached without TLS.", place=_text(one, "place")),
        _sentences(
            tr("Whoever is on the way to it reads its password, and can change what is sent."),
            _code(),
        ),
        tr(
            "Have it speak TLS (tls-port in its redis.conf) and use a rediss:// address, or go "
            "there by a tunnel: {command}",
            command=command,
        ),
        command,
        tr("is reached without TLS"),
    )


def _socket_open(one: types.Owned) -> _Said:
    who, path = _who(one), _text(one, "path")
    command = f"chmod go-w {_quoted(one.get('path'))}"
    return _Said(
        _sentences(tr("{who} may write to the socket {path}.", who=who, path=path)),
        _sentences(tr("It wants no password."), _code(), _hint(one)),
        tr(
            "Have it want a password, or set unixsocketperm 700 in its redis.conf: {command}",
            command=command,
        ),
        command,
        tr("{who} may write to its socket", who=who),
    )


_WORDS: dict[str, Callable[[types.Owned], _Said]] = {
    "taken": _taken, "owner": _owner, "link": _link, "above": _above, "writable": _writable,
    "entries": _entries, "trash": _trash, "server-open": _server_open,
    "server-bare": _server_bare, "server-plain": _server_plain, "socket-open": _socket_open,
}  # fmt: skip
_OF_SERVERS = (_server_open, _server_bare, _server_plain, _socket_open)
