"""What secrets and private facts look like in the bytes of a payload, whatever its format.

PyTorch records every ``TORCH*`` environment variable in an FX graph, a Redis URL with its password
included (torch/_dynamo/debug_utils.py, generate_config_string and save_graph_repro), and source
lines and paths besides. Bytes are searched as they are: texts in a pickle lie there whole, those of
a pickle in a pickle, too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchkeeper.artifacts.masking import MAYBE, SURE, TOKENS

#: Bytes of the longest secret that is looked for.
MAX_VALUE = 8 << 10


class Leak(NamedTuple):
    """A secret. what: "url-password", "url-token", "named", "token" or "private-key". name: the
    scheme of a URL, what the secret is called, or who gives out such tokens. start, end: where the
    secret itself is. excerpt: what stands there, with an ellipsis for it.
    """

    what: str
    name: str
    start: int
    end: int
    excerpt: str


class Fact(NamedTuple):
    """What one may not want to tell. what: "home", "user", "host" or "source"; where it begins."""

    what: str
    value: str
    start: int


_NO_TEXT = rb"\x00-\x20\x7f'\"<>"
_URL = re.compile(
    rb"([A-Za-z][A-Za-z0-9+.-]{0,30})://(?:([^/:@" + _NO_TEXT + rb"]{0,200})"
    rb"(?::([^" + _NO_TEXT + rb"]{1,2000}))?@)?([A-Za-z0-9._-]{0,200})"
)
#: Of the web: a slash ends the address, and what has one before an @ is a path.
_WEB = (b"http", b"https", b"file", b"ftp", b"git", b"ws", b"wss")
#: For each form, a beginning that tells whether it is one, and then all of it.
_TOKENS = tuple(
    (
        form,
        re.compile(form.pattern(form.found, form.found + 40).encode()),
        re.compile(form.pattern(form.found, MAX_VALUE).encode()),
    )
    for form in TOKENS
)
_PEM = re.compile(
    rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----([A-Za-z0-9+/=\s\\:,.-]{40,%d}?)(?=-----END|$|[^"
    rb"A-Za-z0-9+/=\s\\:,.-])" % MAX_VALUE
)
_HOOK = re.compile(rb"hooks\.slack\.com/services/([0-9A-Za-z/_-]{20,200})")
_HTTP = re.compile(
    rb"authorization['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?:basic|bearer|token)\s{1,3}"
    rb"([^\s'\"\x00-\x1f\x7f-\xff]{8,4000})",
    re.IGNORECASE,
)
_SCHEME = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-")
_WORD = tuple(bytes([byte]) for byte in _SCHEME - set(b"+.-") | set(b"_"))
#: Opcodes of a short text, after which comes its length.
_SHORT = (b"\x8c", b"C", b"U")
_NAME = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_SURE = re.compile(SURE, re.IGNORECASE)
_MAYBE = re.compile(rf"(?:{MAYBE})$", re.IGNORECASE)
_PASS = re.compile(r"(?:^|_)PASS$")
_SET = re.compile(rb"(\\?['\"])?\]?\s{0,3}(?:=>|[=:])\s{0,3}(?:[brf]{0,2}(\\?['\"]))?")
_BARE = re.compile(rb"[^\s'\"&;,(){}\[\]<>\\\x00-\x1f\x7f-\xff]{6,2000}")
_MEMO = re.compile(rb"(?:\x94|q.|r....)?(?:[\x8cCU](.)|[XBT](.{4}))", re.DOTALL)
#: What stands where a secret would, and is none.
_PLACEHOLDER = re.compile(
    r"(.)\1*|x+|\*+|%\(?\w*\)?s?|\$.*|\{.*\}|<.*>|\[.*\]|none|null|true|false|str|string|password"
    r"|passwd|secret|token|your[-_].*|changeme|…|\.\.\.",
    re.IGNORECASE | re.DOTALL,
)

_HOME = re.compile(rb"/(?:home|Users)/[^/\s'\"\x00-\x1f\x7f:;,<>()\[\]\\]{1,64}|/root(?=[/'\"])")
_USER = re.compile(rb"/torchinductor_([A-Za-z0-9._-]{1,64})")
_LINE = re.compile(
    rb"# File: ([^\n]{1,300}?):\d{1,7} in [^\n]{1,200}?, code: "
    rb"|File \\?\"([^\"\n\\]{1,300})\\?\", line \d"
)
_LOCAL = re.compile(rb"localhost|127\.[0-9.]+|0\.0\.0\.0|")

_KEYS = ("api", "access", "private", "signing", "account")
#: Fixed texts in lower case, one of which is in whatever is looked for.
_NAMED = (
    "password", "passwd", "passphrase", "pwd", "secret", "credential", "token", "_pass",
    *(f"{word}{between}key" for word in _KEYS for between in ("_", "-", "")),
)  # fmt: skip
_BEGINS = tuple(begin for form in TOKENS for begin in form.begins)
FIXED = {
    **dict.fromkeys((text.encode() for text in _NAMED), "named"),
    **dict.fromkeys((text.encode() for text in _BEGINS), "token"),
    b"://": "url",
    b"private key-----": "pem",
    b"hooks.slack.com/": "hook",
    b"authorization": "http",
    b"/home/": "home",
    b"/users/": "home",
    b"/root": "home",
    b"/torchinductor_": "user",
    b"# file: ": "line",
    b'file "': "line",
    b'file \\"': "line",
}


def _url(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    start = at
    while start and at - start < 31 and data[start - 1] in _SCHEME:
        start -= 1
    while start < at and not chr(data[start]).isalpha():
        start += 1  # a digit in front is the length of a text in a pickle, or nothing at all
    if (match := _URL.match(data, start)) is None:
        return
    scheme, password = match[1].lower(), match[3]
    web = scheme in _WEB
    if password and web and b"/" in password:
        return  # a port and a path
    where = shown(match[1])
    address = f"{where}://{shown(match[2] or b'')}"
    if password and _is_value(password, 3):
        behind = shown(data[match.end(3) : match.end()])[:80]
        yield Leak("url-password", where, match.start(3), match.end(3), f"{address}:…{behind}")
    elif match[2] and not password and _is_random(match[2]):
        behind = shown(data[match.end(2) : match.end()])[:80]
        yield Leak("url-token", where, match.start(2), match.end(2), f"{where}://…{behind}")
    if not web and match[4] and not _LOCAL.fullmatch(match[4]):
        yield Fact("host", shown(match[4]), match.start(4))


def _named(data: bytes, at: int, end: int) -> Iterator[Leak | Fact]:
    start = at
    while start and at - start < 64 and data[start - 1] in _NAME:
        start -= 1
    while end < len(data) and end - at < 64 and data[end] in _NAME:
        end += 1
    begin, stop, value = _kept(data, start, at, end) or (start, end, _set(data, start, end))
    name = data[begin:stop].decode("ascii")
    if value is None or not (kind := _tells(name)):
        return
    text = data[value[0] : value[1]]
    if text.lower() == name.lower().encode() or not _is_value(text, 4):
        return
    if kind == "maybe" and not (_is_random(text) or (name.isupper() and _is_one(text))):
        return
    yield Leak("named", name, *value, f"{name} = …")


def _tells(name: str) -> str | None:
    """Whether a name is for certain, or maybe, that of a secret."""
    if name.lower().strip("_.-") in ("pwd", "oldpwd"):
        return None  # the folder somebody is in
    if _SURE.search(name) or _PASS.search(name):
        return "sure"
    return "maybe" if _MAYBE.search(name) else None


def _kept(data: bytes, first: int, at: int, last: int) -> tuple[int, int, tuple[int, int]] | None:
    """Where a name that is a whole text of a pickle begins and ends, and the text after it. first,
    last: how far there are letters around what stands at ``at``: the byte before a text is its
    length, which may be a letter, and so may the opcode behind it.
    """
    for start in range(first, min(first + 2, at + 1)):
        if start >= 2 and data[start - 2] in b"\x8cCU":
            end = start + data[start - 1]
        elif start >= 5 and data[start - 5] in b"XBT":
            end = start + int.from_bytes(data[start - 4 : start], "little")
        else:
            continue
        match = _MEMO.match(data, end) if at < end <= last else None
        if match is None:
            continue
        length = match[1][0] if match[1] else int.from_bytes(match[2], "little")
        behind = match.end() + length
        if length <= MAX_VALUE and behind <= len(data):
            return start, end, (match.end(), behind)
    return None


def _set(data: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Where the value is that is given to a name, as in a source, in JSON, or in an environment."""
    if (match := _SET.match(data, end)) is None:
        return None
    if quote := match[2]:
        behind = data.find(quote, match.end(), match.end() + MAX_VALUE)
        return (match.end(), behind) if behind > match.end() else None
    given = data[start - 1 : start] in (b"?", b"&", b";") or data[start : start + 2] == b"--"
    if match[0] != b"=" or not (given or data[start:end].isupper()):
        return None
    bare = _BARE.match(data, match.end())
    return bare.span() if bare else None


def _is_value(text: bytes, least: int) -> bool:
    """Whether this can be a secret: one text, and not what stands for one."""
    try:
        said = text.decode()
    except UnicodeDecodeError:
        return False
    whole = len(said) >= least and said.isprintable() and " " not in said
    return whole and not _PLACEHOLDER.fullmatch(said)


def _is_one(text: bytes) -> bool:
    """Whether it looks like what somebody was given: no word, no number."""
    return len(text) >= 8 and any(48 <= b < 58 for b in text) and not text.isdigit()


def _is_random(text: bytes) -> bool:
    """Whether it looks like what a machine made up: long, of many letters and digits."""
    if len(text) < 16 or not _is_one(text) or not text.isascii():
        return False
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())
    return bits > 3.2 and not any(byte in b"/\\ ()[]{}" for byte in text)


def _token(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    before = data[at - 1 : at] if at else b""
    if before in _WORD and data[at - 2 : at - 1] not in _SHORT:
        return  # within another word, but where the letter before it is the length of a text
    for form, begin, whole in _TOKENS:
        if match := begin.match(data, at):
            said = match[0]
            if len(set(said)) > 10 and any(48 <= byte < 58 for byte in said):
                match = whole.match(data, at) or match
                yield Leak("token", form.issuer, *match.span(), f"{shown(said[:3])}…")
            return


def _pem(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    start = data.rfind(b"-----BEGIN ", max(at - 40, 0), at + 1)
    if start >= 0 and (match := _PEM.match(data, start)) and len(set(match[1])) > 8:
        yield Leak("private-key", "", *match.span(1), f"{shown(data[start : match.start(1)])}…")


def _hook(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    if match := _HOOK.match(data, at):
        yield Leak("token", "Slack", *match.span(1), f"{shown(data[at : match.start(1)])}…")


def _http(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    if (match := _HTTP.match(data, at)) and _is_value(match[1], 8):
        yield Leak("named", "Authorization", *match.span(1), "Authorization: …")


def _home(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    match = _HOME.match(data, at)
    if match and not (at and data[at - 1 : at] in _WORD):
        yield Fact("home", shown(match[0]), at)


def _user(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    if match := _USER.match(data, at):
        yield Fact("user", shown(match[1]), match.start(1))


def _line(data: bytes, at: int, _end: int) -> Iterator[Leak | Fact]:
    if match := _LINE.match(data, at):
        path = match[1] or match[2]
        if b"/site-packages/" not in path and not path.startswith(b"<"):
            yield Fact("source", shown(path), at)


def shown(data: bytes) -> str:
    """Bytes as a text that can be shown."""
    return "".join(c if c.isprintable() else "�" for c in data.decode("utf-8", "replace"))[:200]


#: What is tried where a fixed text stands: from the bytes, where it begins and where it ends.
TRIED: dict[str, Callable[[bytes, int, int], Iterator[Leak | Fact]]] = {
    "url": _url, "named": _named, "token": _token, "pem": _pem, "hook": _hook, "http": _http,
    "home": _home, "user": _user, "line": _line,
}  # fmt: skip
