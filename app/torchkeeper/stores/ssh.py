"""Where a place on another machine is, in git's form: ``ssh://[user@]host[:port]/absolute/path``,
or ``/~/path`` from the home there. The host may be an alias of ~/.ssh/config. What ssh could take
for an option is refused, and so is anything that no machine and no user is called.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import NamedTuple
from urllib.parse import unquote

from torchkeeper.artifacts.entry import Problem

SCHEME = "ssh://"
#: What ssh is told apart from options, and what its configuration may hand to a shell.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9_.]{1,32})?\]")
_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+-]{0,63}")
_PORT = re.compile(r"[0-9]{1,5}")
#: Bytes of a path: what Linux takes.
_LONGEST = 4095
#: Seconds without a word of the other machine, thrice, after which the connection is broken.
_ALIVE = 10
#: As scp and sftp start it: nothing of here is lent to the machine, and nothing else is begun.
_OPTIONS = (
    "RequestTTY=no", "RemoteCommand=none", "PermitLocalCommand=no", "ClearAllForwardings=yes",
    "ForwardAgent=no", "ForwardX11=no", f"ServerAliveInterval={_ALIVE}",
)  # fmt: skip


class Address(NamedTuple):
    """A path on a machine. machine: the name without one, such as ``ssh://gpu1``. path: absolute,
    or ``~`` and what is below the home; "" where only the machine is named.
    """

    user: str
    host: str
    port: int | None
    path: str = ""

    @property
    def machine(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}{user}{host}{port}"

    def __str__(self) -> str:
        return self.at(self.path)

    def at(self, path: str) -> str:
        """The name of a path on this machine."""
        path = path.replace("%", "%25")
        return self.machine + (f"/{path}" if path.startswith("~") else path)

    def command(self, does: str, *options: str) -> list[str]:
        """ssh, which has a shell on this machine do something. options: besides ours."""
        told = [part for one in (*_OPTIONS, *options) for part in ("-o", one)]
        port = ["-p", str(self.port)] if self.port else []
        user = ["-l", self.user] if self.user else []
        return ["ssh", "-T", *told, *port, *user, "--", self.host, does]

    @property
    def by_hand(self) -> str:
        """What to type to see the same."""
        port = ["-p", str(self.port)] if self.port else []
        return shlex.join(["ssh", *port, f"{self.user}@{self.host}" if self.user else self.host])


def parse(text: str) -> Address:
    """An address from a name. Raises Problem("ssh-address-wrong")."""
    if text[: len(SCHEME)].lower() != SCHEME:
        raise _wrong("it starts with ssh://")
    where, slash, path = text[len(SCHEME) :].partition("/")
    user, at, host = where.rpartition("@")
    if at and not _USER.fullmatch(user):
        if ":" in user:
            raise _wrong("a password does not belong into it: ssh asks for one itself")
        raise _wrong("the user has letters, digits, “_”, “.”, “+” and “-”, which is not the first")
    if (bracket := _IPV6.match(host)) is not None:
        name, port = bracket[0][1:-1], host[bracket.end() :]
        colon, port = port[:1], port[1:]
    else:
        name, colon, port = host.partition(":")
        if not _HOST.fullmatch(name):
            raise _wrong("the host has letters, digits, “_”, “.” and “-”, which is not the first")
    if colon not in ("", ":") or (colon and not _PORT.fullmatch(port)):
        raise _wrong("after the host comes “:” and a number, or a path")
    if colon and not 0 < int(port) < 1 << 16:
        raise _wrong("a port is a number from 1 to 65535")
    return Address(user, name, int(port) if colon else None, _path(slash + path))


def _path(text: str) -> str:
    """A path as the machine takes it."""
    path = unquote(text, errors="surrogateescape")
    if not path.strip("/"):
        return ""
    if any(ord(one) < 32 or ord(one) == 127 for one in path):
        raise _wrong("a path has no control characters")
    try:
        length = len(path.encode(errors="surrogateescape"))
    except UnicodeEncodeError:
        raise _wrong("a path has no half characters") from None
    if length > _LONGEST:
        raise _wrong("a path has at most 4,095 bytes")
    if ".." in path.split("/"):
        raise _wrong("a path has no “..” in it")
    if path == "/~" or path.startswith("/~/"):
        return posixpath.normpath(path[1:])
    if path.startswith("/~"):
        raise _wrong("“~” stands for the own home alone: /~/path")
    return "/" + posixpath.normpath(path).lstrip("/")


def _wrong(why: str) -> Problem:
    # What is wrong with it may be a password: it is never quoted.
    return Problem("ssh-address-wrong", why=why)
