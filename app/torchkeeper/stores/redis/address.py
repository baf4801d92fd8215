"""Where a Redis server is, in redis-py's URL forms, always without the password.

``redis://[user[:password]@]host[:port][/db]``, ``rediss://…`` for TLS, and
``unix:///path/to/socket[?db=n]`` (parse_url in redis/connection.py). In front of any of them the
machine through which it is reached, if that is another: ``ssh://gpu1/redis://…``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores import ssh
from torchkeeper.stores.redis import SCHEMES, through

DEFAULT_PORT = 6379
#: How a certificate can be treated, in redis-py's words.
CERT_REQS = ("required", "optional", "none")
#: As FALSE_STRINGS in redis/connection.py.
_FALSE = ("0", "f", "false", "n", "no")

_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_TLS = (*_FILES, "ssl_cert_reqs", "ssl_check_hostname")
#: What redis-py takes too, and what makes no difference to us.
_IGNORED = frozenset({
    "socket_timeout", "socket_connect_timeout", "socket_keepalive", "retry_on_timeout",
    "max_connections", "health_check_interval", "protocol", "client_name", "decode_responses",
    "encoding", "encoding_errors", "lib_name", "lib_version", "timeout", "socket_read_size",
    "ssl_min_version",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Address:
    """A server and a database in it. Holds no password; its text is the place's name. host and
    port: of TCP and TLS; path: of a unix socket, "" for the others. ca_certs, certfile, keyfile:
    files, or "" for the system's CAs and no client certificate. cert_reqs: one of CERT_REQS. way:
    the machine through which it is reached, as ``ssh://gpu1``; "" from here.
    """

    scheme: str
    host: str = "localhost"
    port: int = DEFAULT_PORT
    path: str = ""
    db: int = 0
    username: str = ""
    ca_certs: str = ""
    certfile: str = ""
    keyfile: str = ""
    cert_reqs: str = "required"
    check_hostname: bool = True
    way: str = ""

    def __str__(self) -> str:
        way = f"{self.way}/" if self.way else ""
        user = f"{quote(self.username, safe='')}@" if self.username else ""
        if self.scheme == "unix":
            # After the host's place, for which there is none.
            return f"{way}unix://{user}{quote(self.path)}" + (f"?db={self.db}" if self.db else "")
        host = f"[{self.host}]" if ":" in self.host else quote(self.host, safe="")
        options = {
            "ssl_ca_certs": self.ca_certs,
            "ssl_certfile": self.certfile,
            "ssl_keyfile": self.keyfile,
            "ssl_cert_reqs": "" if self.cert_reqs == "required" else self.cert_reqs,
            "ssl_check_hostname": "" if self.check_hostname else "false",
        }
        said = urlencode({name: value for name, value in options.items() if value}, safe="/")
        where = f"{way}{self.scheme}://{user}{host}:{self.port}/{self.db}"
        return f"{where}?{said}" if said else where


class Parsed(NamedTuple):
    """An address, and apart from it the password that its text held."""

    address: Address
    password: str | None


def parse(text: str) -> Parsed:
    """An address from a URL. Raises Problem("address-wrong" | "ssh-address-wrong"), which does not
    quote the URL: that may hold a password.
    """
    machine, there = through(text)
    if machine:
        address, password = parse(there)
        return Parsed(replace(address, way=ssh.parse(machine).machine), password)
    if not text[:10].lower().startswith(SCHEMES):
        raise _wrong("It must start with redis://, rediss:// or unix://")
    scheme = text.partition("://")[0].lower()
    if not text.isprintable() or " " in text:
        raise _wrong("It contains a space, or a character that cannot be printed")
    try:
        url = urlsplit(text)
        port = url.port
        host = url.hostname or ""
        query = parse_qsl(url.query, keep_blank_values=True)
    except ValueError:
        # Without its cause, whose text may quote a part of the password.
        raise _wrong("Its host or port is wrong. In a password, write “/”, “?”, “#” and “@” as "
                     "%2F, %3F, %23 and %40") from None  # fmt: skip
    if url.fragment or "@" in url.path + url.query or port == 0:
        raise _wrong("In a password, write “/”, “?”, “#” and “@” as %2F, %3F, %23 and %40")
    options = dict(query)
    password = options.pop("password", None) or (unquote(url.password) if url.password else None)
    username = options.pop("username", "") or unquote(url.username or "")
    number = options.pop("db", "") or ("" if scheme == "unix" else unquote(url.path).strip("/"))
    if number and not (number.isascii() and number.isdigit() and len(number) < 10):
        raise _wrong("Its database is not a number")
    db = int(number or 0)
    for name in options:
        if name not in _IGNORED and (name not in _TLS or scheme != "rediss"):
            raise _wrong("It is not an option of such an address", name)
    if scheme == "unix":
        if host or not url.path.strip("/"):
            raise _wrong("It needs the whole path of a socket: unix:///run/redis/redis.sock")
        return Parsed(Address("unix", "", 0, unquote(url.path), db, username), password)
    address = Address(
        scheme=scheme,
        host=unquote(host) or "localhost",
        port=DEFAULT_PORT if port is None else port,
        db=db,
        username=username,
        ca_certs=_file(options, "ssl_ca_certs"),
        certfile=_file(options, "ssl_certfile"),
        keyfile=_file(options, "ssl_keyfile"),
        cert_reqs=options.get("ssl_cert_reqs", "required").lower(),
        check_hostname=options.get("ssl_check_hostname", "true").lower() not in _FALSE,
    )
    if address.cert_reqs not in CERT_REQS:
        raise _wrong("It must be required, optional or none", "ssl_cert_reqs")
    if address.keyfile and not address.certfile:
        raise _wrong("It needs the certificate, ssl_certfile", "ssl_keyfile")
    return Parsed(address, password)


def _wrong(why: str, option: str = "") -> Problem:
    return Problem("address-wrong", why=f"{option[:40]}: {why}" if option else why)


def _file(options: Mapping[str, str], name: str) -> str:
    path = options.get(name, "")
    if path and not path.startswith("/"):
        # An engine runs in a folder of its own.
        raise _wrong("It must be a whole path", name)
    return path


class Named(NamedTuple):
    """A server that the environment names, and the variable that does."""

    address: Address
    password: str | None
    reason: str


def from_environment(environ: Mapping[str, str]) -> Iterator[Named]:
    """The servers that PyTorch and Triton would use; what is no address is left out.
    RedisRemoteCacheBackend in torch/_inductor/remote_cache.py and in triton/runtime/cache.py.
    """
    url = environ.get("TORCHINDUCTOR_REDIS_URL")
    for reason, text in (
        ("TORCHINDUCTOR_REDIS_URL", url),
        ("TORCHINDUCTOR_REDIS_HOST", None if url else _host(environ, "TORCHINDUCTOR_REDIS")),
        ("TRITON_REDIS_HOST", _host(environ, "TRITON_REDIS")),
    ):
        if text:
            try:
                address, password = parse(text)
            except Problem:
                continue
            yield Named(address, password, reason)


def _host(environ: Mapping[str, str], prefix: str) -> str | None:
    host, port = environ.get(f"{prefix}_HOST"), environ.get(f"{prefix}_PORT")
    if not host and not port:
        return None
    host = host or "localhost"
    if set(host) & set("@/?#"):
        return None  # no host; a password may stand in it, and be taken for the name of a user
    return f"redis://{f'[{host}]' if ':' in host else host}:{port or DEFAULT_PORT}/0"
