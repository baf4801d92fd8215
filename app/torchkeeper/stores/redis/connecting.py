"""A connection to a Redis server, and a code for everything that can go wrong with it. Also how
long a server is tried.

A socket and hiredis's reader are all it is: redis-py takes a tenth of a second to import, tries
again on its own, and tells a refused certificate from a refused connection in prose only.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.installed import installed
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.redis.address import Address
from torchkeeper.stores.store import Lost

# A server is a stranger. hiredis keeps a line without an end until memory is full, and makes a list
# of as many places as an answer promises. So everything that arrives is looked through first: where
# each answer ends, and that it is one that was asked for (RESP2:
# https://redis.io/docs/latest/develop/reference/protocol-spec/; of RESP3 nothing is asked for).

#: Bytes of a line: a simple string, an error, a number, or the head of what follows.
MAX_LINE = 64 << 10
#: Bytes of a text, more than is ever asked for; of an answer; and its parts, in lists too.
MAX_TEXT, MAX_ANSWER, MAX_PARTS = 128 << 20, 256 << 20, 1 << 20
#: Lists in lists. No command that is used answers with more than two.
_DEPTH = 4
#: How a text and a list begin, and the most digits that a length may have.
_TEXT, _LIST, _DIGITS = ord("$"), ord("*"), 20
#: Many numbers in a row are what most answers are: of STRLEN, for each key one.
_NUMBERS = re.compile(rb"(?::-?[0-9]{1,20}\r\n)+")


class Unbounded(Exception):
    """An answer is longer than any that was asked for."""


class Malformed(Exception):
    """It is no answer of a Redis."""


class Bounds:
    """Follows what arrives, piece by piece. answers: how many are whole. most: bytes of one."""

    def __init__(self) -> None:
        self.answers = 0
        self.most = MAX_ANSWER
        #: What is left of the piece before: the beginning of a line.
        self._rest = b""
        #: Bytes of a text that are still to come, its end included.
        self._skip = 0
        #: Of each list that is open, how many parts are to come.
        self._open: list[int] = []
        self._bytes = self._parts = 0

    @property
    def within(self) -> bool:
        """Whether an answer has begun and not ended."""
        return bool(self._rest or self._skip or self._open)

    def look(self, data: bytes) -> None:
        """See that what arrives keeps to the bounds. Raises Unbounded, Malformed."""
        self._bytes += len(data)
        if self._rest:
            data, self._rest = self._rest + data, b""
        at, size, is_open = 0, len(data), self._open
        while at < size:
            if self._skip:
                step = min(self._skip, size - at)
                at += step
                self._skip -= step
                if not self._skip:
                    self._ended()
            elif not is_open and (numbers := _NUMBERS.match(data, at)):
                self.answers += numbers.group().count(b":")
                at = numbers.end()
            else:
                end = data.find(b"\r\n", at, at + MAX_LINE)
                if end < 0:
                    self._rest = data[at:]
                    if len(self._rest) >= MAX_LINE:
                        raise Unbounded
                    if data[at] not in b"+-:$*":
                        raise Malformed
                    break
                kind, head, at = data[at], data[at + 1 : end], end + 2
                if kind != _TEXT:
                    self._line(kind, head)
                    if is_open:
                        at, is_open[-1] = _texts(data, at, is_open[-1])
                elif (count := _number(head, min(MAX_TEXT, self.most))) < 0:
                    self._ended()
                else:
                    self._skip = count + 2
            if not self.within:
                self._bytes = size - at
        if self.within and self._bytes > self.most:
            raise Unbounded

    def _line(self, kind: int, head: bytes) -> None:
        if kind == _LIST:
            count = _number(head, MAX_PARTS)
            self._parts += max(count, 0)
            if self._parts > MAX_PARTS:
                raise Unbounded
            if count > 0:
                if len(self._open) >= _DEPTH:
                    raise Malformed
                self._open.append(count)
                return
        elif kind not in b"+-:":
            raise Malformed
        self._ended()

    def _ended(self) -> None:
        while self._open:
            self._open[-1] -= 1
            if self._open[-1]:
                return
            self._open.pop()
        self.answers += 1
        self._parts = 0


def _number(head: bytes, most: int) -> int:
    """How long what follows is; -1 where there is none. Raises Unbounded, Malformed."""
    try:
        count = int(head) if len(head) <= _DIGITS else most + 1
    except ValueError:
        raise Malformed from None
    if count > most:
        raise Unbounded
    if count < -1:
        raise Malformed
    return count


def _texts(data: bytes, at: int, left: int) -> tuple[int, int]:
    """Where the texts of a list that are here whole end, and how many of its parts are left, the
    last one always: a page of keys has a thousand, and there may be millions of keys.
    """
    find, size = data.find, len(data)
    while left > 1 and at < size and data[at] == _TEXT:
        end = find(b"\r\n", at, at + _DIGITS)
        head = data[at + 1 : end]
        if end < 0 or not head.isdigit() or (count := int(head)) > MAX_TEXT:
            break
        after = end + count + 4
        if after > size:
            break
        at, left = after, left - 1
    return at, left


#: Seconds to wait for a connection, and for all that was asked for at once; and bytes a second that
#: buy more time: a large value may come over a slow line, a byte now and then is no answer.
CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 30.0
SLOWEST = 16 << 10
#: Seconds after which somebody who waits is asked whether to go on.
_TICK = 0.1
_BUFFER = 256 << 10

Argument = bytes | str | int
#: What an answer of the server's means, and how it begins then.
_ANSWERS: dict[str, tuple[str, ...]] = {
    "password-needed": ("NOAUTH",),
    "password-wrong": ("WRONGPASS", "ERR invalid password"),
    "password-unneeded": (
        "ERR AUTH <password> called without",
        "ERR Client sent AUTH, but no password",
    ),
    "database-out-of-range": ("ERR DB index is out of range", "ERR invalid DB index"),
    "server-cluster": ("ERR SELECT is not allowed in cluster", "MOVED", "ASK", "CLUSTERDOWN"),
    "server-loading": ("LOADING",),
    "server-stale": ("MASTERDOWN",),
    "server-full": ("ERR max number of clients",),
    "server-protected": ("DENIED",),
    "server-forbids": ("NOPERM",),
    "server-read-only": ("READONLY", "NOREPLICAS"),
    "server-out-of-memory": ("OOM",),
    "server-cannot-save": ("MISCONF",),
    "server-busy": ("BUSY",),
}


class Refusal(Exception):
    """An error the server gave as an answer, such as ``WRONGTYPE …``."""


def problem_of(answer: str, server: str) -> Problem:
    for code, starts in _ANSWERS.items():
        if answer.startswith(starts):
            return Problem(code, server=server, why=answer[:200])
    return Problem("server-error", server=server, why=answer[:200])


def forbids_key(answer: str) -> bool:
    """Whether an error answer says that the user has nothing to do with a key."""
    return answer.startswith("NOPERM") and " to run the " not in answer


def pack(*arguments: Argument) -> bytes:
    parts = [b"*%d\r\n" % len(arguments)]
    for one in arguments:
        data = one if isinstance(one, bytes) else encoded(str(one))
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def can_be_key(text: str) -> bool:
    """Whether a text is one that a key comes to: JSON may hold others."""
    try:
        encoded(text)
    except UnicodeEncodeError:
        return False
    return True


def encoded(text: str) -> bytes:
    """A key as the server has it; what is not UTF-8 are lone surrogates, as in names of files."""
    return text.encode("utf-8", "surrogateescape")


class Connection:
    """An open connection, logged in and on its database.

    check: is called several times a second while something is waited for, and may raise.

    Raises when made: Problem "redis-missing", "server-unknown-host", "server-refused",
    "server-unreachable", "server-timeout", "socket-missing", "socket-forbidden",
    "certificate-expired", "certificate-wrong-host", "certificate-untrusted", "certificate-file",
    "client-certificate-needed", "client-certificate-refused", "server-no-tls", "server-wants-tls",
    "server-not-redis", "server-lost", "tls-failed", and those of ``problem_of``. Later:
    "server-lost", "server-timeout", "server-not-redis", "server-unbounded".
    """

    def __init__(self, address: Address, password: str | None, check: Callable[[], None]) -> None:
        self.address, self._server, self._check = address, str(address), check
        self._socket: socket.socket | None = None
        self._welcome = True
        self._none = object()
        if (hiredis := installed("hiredis")) is None:
            raise Problem("redis-missing")
        # The default decodes nothing, and gives errors as objects.
        self._reader = hiredis.Reader(notEnoughData=self._none)
        self._bounds = Bounds()
        #: Seconds that were spent on waiting for answers.
        self.waited = 0.0
        #: How many answers were read.
        self._read = 0
        self._wrong_words = hiredis.ProtocolError
        self._socket = _connected(address, self._server, check)
        try:
            self._log_in(password)
            #: Whether looking leaves idle times as they are, which servers before 7.2 cannot.
            self.quiet = not isinstance(self.ask("CLIENT", "NO-TOUCH", "ON"), Refusal)
        except BaseException:
            self.close()
            raise
        self._welcome = False

    def _log_in(self, password: str | None) -> None:
        user, db = self.address.username, self.address.db
        if password is not None or user:
            self.call("AUTH", *filter(None, (user,)), password or "")
        if db:
            self.call("SELECT", db)
        # Only this is refused while a server loads its data, or has lost the one it repeats.
        # A user may be forbidden even this, and is logged in all the same.
        reply = self.ask("PING")
        if isinstance(reply, Refusal) and not str(reply).startswith("NOPERM"):
            raise problem_of(str(reply), self._server)

    @property
    def peer(self) -> str:
        """The IP address of the server; empty for a unix socket, or without a connection. A server
        behind another machine has its name there instead.
        """
        if self.address.way:
            return self.address.host
        try:
            name = self._socket.getpeername() if self._socket else ""
        except OSError:
            return ""
        return str(name[0]) if isinstance(name, tuple) else ""

    def close(self) -> None:
        if self._socket:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None

    def send(self, data: bytes) -> None:
        """Send packed commands, whose answers are to be read one by one."""
        if self._socket is None:
            raise Problem("server-lost", server=self._server)
        try:
            self._socket.settimeout(ANSWER_TIMEOUT)
            self._socket.sendall(data)
        except (OSError, ValueError) as e:
            # What the server said before it hung up tells more than that it did.
            if self._welcome and isinstance(e, (ConnectionError, ssl.SSLError)):
                self._fill(time.monotonic() + CONNECT_TIMEOUT)
            raise self._lost(e) from e

    def read_many(self, count: int) -> list[object]:
        """The next answers, error answers as Refusals."""
        replies: list[object] = []
        gets, none, add = self._reader.gets, self._none, replies.append
        deadline = 0.0
        try:
            while len(replies) < count:
                if (reply := gets()) is not none:
                    add(Refusal(str(reply)) if isinstance(reply, Exception) else reply)
                else:
                    asked = time.monotonic()
                    deadline = deadline or asked + ANSWER_TIMEOUT
                    deadline += self._fill(deadline) / SLOWEST
                    self.waited += time.monotonic() - asked
            self._read += count
        except (self._wrong_words, MemoryError) as e:
            raise self._broken("server-not-redis") from e
        return replies

    def _broken(self, code: str) -> Problem:
        """Let go of it; a problem, unless it is that the server wants TLS."""
        self.close()
        plain = self._welcome and self.address.scheme == "redis"
        code = "server-wants-tls" if plain and _speaks_tls(self.address, self._check) else code
        return Problem(code, server=self._server)

    def _fill(self, deadline: float) -> int:
        if self._socket is None:
            raise Problem("server-lost", server=self._server)
        while True:
            try:
                self._check()
            except BaseException:
                # The answers that are still to come would be taken for those of later questions.
                self.close()
                raise
            # Whether anything comes or not: a byte now and then would keep us for ever.
            if time.monotonic() > deadline:
                self.close()
                raise Problem("server-timeout", server=self._server)
            try:
                self._socket.settimeout(_TICK)
                data = self._socket.recv(_BUFFER)
                break
            except TimeoutError:
                continue
            except (OSError, ValueError) as e:
                raise self._lost(e) from e
        if not data:
            raise self._lost(None)
        try:
            self._bounds.look(data)
        except Malformed as e:
            raise self._broken("server-not-redis") from e
        except Unbounded as e:
            self.close()
            raise Problem("server-unbounded", server=self._server) from e
        self._reader.feed(data)
        return len(data)

    def _nothing_unasked(self) -> None:
        """What has arrived unasked would be taken for the answers to what is asked next."""
        if self._bounds.within or self._bounds.answers != self._read:
            self.close()
            raise Problem("server-not-redis", server=self._server)

    def _lost(self, error: Exception | None) -> Problem:
        """The connection broke; at its beginning that may be an answer."""
        self.close()
        if isinstance(error, ssl.SSLError) and self._welcome:
            return _tls_problem(error, self.address, self._server)
        if isinstance(error, TimeoutError):
            return Problem("server-timeout", server=self._server)
        return self._broken("server-lost")

    def ask(self, *arguments: Argument) -> object:
        """The answer to a command; an error answer is returned as a Refusal."""
        self._nothing_unasked()
        self.send(pack(*arguments))
        return self.read_many(1)[0]

    def call(self, *arguments: Argument) -> object:
        """The answer to a command; an error answer is raised as the Problem it is."""
        reply = self.ask(*arguments)
        if isinstance(reply, Refusal):
            raise problem_of(str(reply), self._server)
        return reply

    def many(self, commands: Iterable[bytes], most: int = MAX_ANSWER) -> list[object]:
        """The answers to packed commands, sent at once; each of ``most`` bytes, or a Refusal."""
        commands = list(commands)
        self._nothing_unasked()
        self.send(b"".join(commands))
        self._bounds.most = most
        try:
            return self.read_many(len(commands))
        finally:
            self._bounds.most = MAX_ANSWER


def plain(address: Address, server: str, check: Callable[[], None]) -> socket.socket:
    """A connection without TLS. Raises Problem."""
    try:
        if address.way:
            from torchkeeper.stores.redis.way import joined  # few servers need it

            made = joined(address, server, check)
        elif address.scheme == "unix":
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                made.settimeout(CONNECT_TIMEOUT)
                made.connect(address.path)
            except BaseException:
                made.close()
                raise
        else:
            made = socket.create_connection((address.host, address.port), CONNECT_TIMEOUT)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(CONNECT_TIMEOUT)
        return made
    except (socket.gaierror, UnicodeError) as e:
        raise Problem("server-unknown-host", server=server, host=address.host) from e
    except FileNotFoundError as e:
        raise Problem("socket-missing", server=server, path=address.path) from e
    except PermissionError as e:
        code = "socket-forbidden" if address.scheme == "unix" else "server-unreachable"
        raise Problem(code, server=server, path=address.path, why=e.strerror) from e
    except ConnectionRefusedError as e:
        raise Problem("server-refused", server=server) from e
    except TimeoutError as e:
        raise Problem("server-timeout", server=server) from e
    except OSError as e:
        raise Problem("server-unreachable", server=server, why=e.strerror or str(e)) from e


def _connected(address: Address, server: str, check: Callable[[], None]) -> socket.socket:
    made = plain(address, server, check)
    if address.scheme != "rediss":
        return made
    try:
        return _context(address, server).wrap_socket(made, server_hostname=address.host)
    except OSError as e:
        made.close()
        # A plain Redis waits for the rest of what it takes for a command.
        if not isinstance(e, ssl.SSLCertVerificationError) and _speaks_plain(address, check):
            raise Problem("server-no-tls", server=server) from e
        if isinstance(e, ssl.SSLError):
            raise _tls_problem(e, address, server) from e
        code = "server-timeout" if isinstance(e, TimeoutError) else "server-lost"
        raise Problem(code, server=server) from e
    except ValueError as e:
        made.close()
        raise Problem("tls-failed", server=server, why=str(e)[:200]) from e
    except BaseException:
        made.close()
        raise


def _context(address: Address, server: str) -> ssl.SSLContext:
    file = address.ca_certs
    try:
        context = ssl.create_default_context(cafile=file or None)
        file = address.certfile
        if file:
            # Never asks for a passphrase: there is nobody to type it.
            context.load_cert_chain(file, address.keyfile or None, password="")
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or str(e)
        raise Problem("certificate-file", server=server, file=file, why=why[:200]) from e
    if address.cert_reqs != "required" or not address.check_hostname:
        context.check_hostname = False
    if address.cert_reqs != "required":
        # A client that does not require a certificate does not look at it.
        context.verify_mode = ssl.CERT_NONE
    return context


def _tls_problem(error: ssl.SSLError, address: Address, server: str) -> Problem:
    why = str(getattr(error, "verify_message", "") or error.reason or error)[:200]
    if isinstance(error, ssl.SSLCertVerificationError):
        # X509_V_ERR_CERT_NOT_YET_VALID, …_HAS_EXPIRED; …_HOSTNAME_MISMATCH, …_IP_ADDRESS_MISMATCH
        if error.verify_code in (9, 10):
            return Problem("certificate-expired", server=server, why=why)
        if error.verify_code in (62, 64):
            return Problem("certificate-wrong-host", server=server, host=address.host)
        return Problem("certificate-untrusted", server=server, why=why)
    said = why.upper()
    if "ALERT" in said and ("CERTIFICATE" in said or "UNKNOWN_CA" in said or "HANDSHAKE" in said):
        code = "client-certificate-refused" if address.certfile else "client-certificate-needed"
        return Problem(code, server=server, why=why)
    return Problem("tls-failed", server=server, why=why)


def _speaks_plain(address: Address, check: Callable[[], None]) -> bool:
    """Whether the port answers to Redis's own words without TLS."""
    try:
        with plain(address, "", check) as probe:
            probe.settimeout(1)
            probe.sendall(pack("PING"))
            return probe.recv(1) in (b"+", b"-")
    except (OSError, Problem):
        return False


def _speaks_tls(address: Address, check: Callable[[], None]) -> bool:
    """Whether the port answers to a TLS handshake; nothing is sent over it."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with plain(address, "", check) as made:
            made.settimeout(1)
            with context.wrap_socket(made):
                return True
    except ssl.SSLError as e:
        # It refused us in TLS's own words.
        return "ALERT" in (e.reason or "").upper()
    except (OSError, ValueError, Problem):
        return False


T = TypeVar("T")

#: Seconds after the connection broke in which the server must be back.
AWAY_S = 20.0
#: And where it says that it is back and still loads what it holds.
LOADING_S = 120.0
#: The longest pause between two attempts, in seconds.
_PAUSE_S = 2.0

#: What a server that was stopped and is started again answers, in turn, and a broken network.
PASSING = frozenset({
    "server-lost", "server-timeout", "server-refused", "server-unreachable", "server-loading",
    "socket-missing", "server-stale",
})  # fmt: skip


class Patience:
    """How long one break is borne: from when it is noticed until the server is back."""

    def __init__(self, report: Report) -> None:
        self._report, self._since, self._pause = report, time.monotonic(), 0.0

    def spend(self, problem: Problem) -> None:
        """Wait before the next attempt, the first time not at all. Says ``waiting={"code",
        "params"}`` once a first attempt was in vain. Raises Lost where that has taken too long, and
        where waiting does not help: the server wants a password now.
        """
        if problem.code not in PASSING:
            raise Lost(problem) from problem
        limit = LOADING_S if problem.code == "server-loading" else AWAY_S
        if time.monotonic() - self._since > limit:
            raise Lost(problem, waited=True) from problem
        if self._pause == 0.1:
            self._report.finding(waiting={"code": problem.code, "params": problem.params})
        end = time.monotonic() + self._pause
        while (left := end - time.monotonic()) > 0:
            self._report.check()
            time.sleep(min(left, 0.05))
        self._report.check()
        self._pause = min(2 * self._pause or 0.1, _PAUSE_S)


def patiently(report: Report, work: Callable[[], T], reconnect: Callable[[], None]) -> T:
    """Do something that may be done twice, on a new connection where the old one breaks. Raises
    what ``work`` raises, and as ``Patience.spend``.
    """
    try:
        return work()
    except Problem as problem:
        if problem.code not in PASSING:
            raise
        first = problem
    patience = Patience(report)
    patience.spend(first)
    while True:
        try:
            reconnect()
        except Problem as problem:
            patience.spend(problem)
            continue
        try:
            return work()
        except Problem as problem:
            if problem.code not in PASSING:
                raise
            patience.spend(problem)


# SCAN promises to end, and a Redis keeps that. It may well give empty pages, where its table is
# much larger than what it holds, and a scan that is begun anew gives all keys once more.

#: Pages, and seconds, without anything new; and keys beyond those that the server says it has.
PAGES, SECONDS, KEYS = 10_000, 120.0, 10_000_000
#: Keys on a page, and keys a second, that a server gives at the least while a scan repeats.
_PER_PAGE, _PER_SECOND = 250, 10_000
#: And a second of those that are waited for: one that gives a key now and then never ends, either.
_SLOWEST = 200
#: Keys that a server may say it has and be believed.
_BELIEVED = 100_000_000


class Endless:
    """Follows one scan. expected: how many keys may be given that bring nothing: those which an
    earlier scan has given, or all that the server has where only some are looked for.
    """

    def __init__(self, server: str, expected: int) -> None:
        self._server = server
        expected = min(expected, _BELIEVED)
        self._most = PAGES + expected // _PER_PAGE
        self._seconds = SECONDS + expected / _PER_SECOND
        self._pages, self._since = 0, time.monotonic()

    def page(
        self, cursor: bytes, new: int, looked: int = 0, total: int | None = None, waited: float = 0
    ) -> None:
        """A page has come, with so many new keys, of ``looked`` in all where the server has
        ``total``; so many seconds were waited for them. Raises Problem("server-endless").
        """
        if not cursor.isdigit():
            raise Problem("server-not-redis", server=self._server)
        if new:
            self._pages, self._since = 0, time.monotonic()
        self._pages += 1
        idle = self._pages > self._most or time.monotonic() - self._since > self._seconds
        slow = waited > SECONDS + looked / _SLOWEST
        many = total is not None and looked > 4 * min(total, _BELIEVED) + KEYS
        if idle or slow or many:
            raise Problem("server-endless", server=self._server)
