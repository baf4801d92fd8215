"""The filter grammar, one for the window's box and for ``--filter``; FILTERS has its words.

Fields of text compare by ``:``, torch and device by prefix, numbers by ``<``, ``>``, ``<=``, ``>=``
and ``=``. A leading ``-`` negates, and of verdicts means that there is another; quotes keep blanks
together and make anything a text to look for; all terms must hold. What is no entry
(``COUNTED_APART``) is listed only where its kind is named, as ``kind:lock``, or all is asked for.
"""

from __future__ import annotations

import contextlib
import operator as op
import re
import string
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from math import inf, nan
from typing import Any, NamedTuple

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import COUNTED_APART, KINDS, UNREAD, VERDICTS, Entry, Problem
from torchkeeper.artifacts.jits import known as jits

#: Words of a filter, and what they find: for help, completion and the manual.
FILTERS = {
    "mm": "entries with this text in their name or key",
    '"a b"': "the same; a text with a space needs quotes",
    "kind:fxgraph,triton": "entries of these kinds",
    "kind:flashinfer": "of the kind jit, those of this compiler",
    "torch:2.9": "made by a torch whose version begins with this",
    "device:cpu": "made for this device",
    "size>10M": "larger than this; also `<`, `>=`, `<=` and `=`, with k, M, G or MiB",
    "age>30d": "changed before that time; s, m, h, d, w or y",
    "compile>5": "compiling took more seconds than this",
    "files>3": "with more files than this",
    **{f"is:{verdict}": "with this verdict in the environment of `--env`" for verdict in VERDICTS},
    "is:broken": "damaged, or something that they need is missing",
    "is:orphan": "no other entry needs them",
    "is:unread": "not read yet, because that takes long: `ls --read-all` reads them",
    "is:foreign": "other users own them; not you, and not root",
    "owner:bob": "this user owns them",
    "vllm:1a2b3c4d5e": "in a folder of vLLM's that begins so: a key, a rank or a part of a model",
    "used>90d": "on a server: not used for longer than this",
    "expires<7d": "on a server: they expire sooner than this",
    "expires:never": "on a server: they never expire",
    "-kind:lock": "everything else: `-` negates a word",
}

#: One term of a filter: which of many entries it lets through, in their order. For all of them at
#: once, in one loop: a call for each takes three times as long.
Mask = Callable[[Sequence[Entry]], Iterable[bool]]

#: One term of a filter.
TERM = re.compile(r'(-?)((?:[a-z]+(?:[:<>]=?|=))?"[^"]*"|[^\s"]+)')
_FIELD = re.compile(r"([A-Za-z_]*)(<=|>=|[:<>=])(.*)")
#: What is before the operator of a term.
FIELDS = ("kind", "torch", "device", "is", "owner", "vllm", "size", "age", "files", "compile",
           "used", "expires")  # fmt: skip
#: What a filter is about that asks for the verdict in an environment, and the states that do.
VERDICT = "verdict"
_TOLD = frozenset(VERDICTS) - {"broken"}
#: What it is about where it names one: which compiler's an entry is, only reading it tells.
COMPILER = "compiler"
#: What only folders tell.
OWNER = "owner"
#: Those that a server is asked for only when somebody wants to know.
TIMES = frozenset({"used", "expires"})
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Z]*)")
_SIZES = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
          "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip
_AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "": 86400, "w": 604800, "y": 31557600}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": op.lt, ">": op.gt, "<=": op.le, ">=": op.ge, "=": op.eq,
}  # fmt: skip
#: Fields of which only reading an entry tells all; "" stands for words.
_READ = frozenset({"", "torch", "device", "compile"})
_ATTRIBUTES = {"age": "mtime", "compile": "compile_s"}
#: States that are not only a verdict; what is broken may show only in what it needs.
STATES: dict[str, Mask] = {
    "orphan": lambda entries: [e.orphan is not None for e in entries],
    "foreign": lambda entries: [e.owner is not None for e in entries],
    "broken": lambda entries: [
        e.verdict == "broken" or (e.problem is not None and e.broken) for e in entries
    ],
    "unread": lambda entries: [e.problem in UNREAD for e in entries],
}


class Query(NamedTuple):
    text: str
    tests: tuple[Mask, ...]
    #: The fields that its terms are about; "" stands for words, which look in names and keys,
    #: VERDICT for what only a verdict tells, COMPILER beside a kind for what names one.
    fields: frozenset[str] = frozenset()
    #: The kinds that it names, other than to leave them out.
    kinds: frozenset[str] = frozenset()

    @property
    def apart(self) -> bool:
        """Whether it names a kind that is counted apart: else lists leave these out."""
        return not self.kinds.isdisjoint(COUNTED_APART)

    def matches(self, entry: Entry) -> bool:
        return all(all(test((entry,))) for test in self.tests)


def parse(text: str, now: float | None = None) -> Query:
    """The Query for a text; an empty text matches everything. ``now`` is the time ages are counted
    from, by default that of the call. Raises Problem("bad-filter", token=…, why=…).
    """
    now = time.time() if now is None else now
    tests: list[Mask] = []
    fields: set[str] = set()
    kinds: set[str] = set()
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = TERM.match(text, position)
        if not match:
            token = _without_value(text[position:])
            raise Problem("bad-filter", token=token, why="a quote is not closed")
        field = None if match[2].startswith('"') else _FIELD.fullmatch(match[2])
        test = _term(match[2], field, now)
        name = field[1].lower() if field else ""
        state = field[3].strip('"').lower() if field is not None and name == "is" else ""
        told = state in _TOLD
        fields.add(VERDICT if told else OWNER if state == "foreign" else name)
        of_compiler = False
        if field is not None and name == "kind":
            said = set(field[3].strip('"').lower().split(","))
            of_compiler = not said <= set(KINDS)
            fields.update([COMPILER] if of_compiler else [])
            kinds.update(() if match[1] else {*said, "jit"} if of_compiler else said)
        if match[1]:
            known = [_judged] if told else []
            if name in _READ or told or state in ("broken", "orphan"):
                known.append(_is_read)
            known += [_has_compiler] if of_compiler else []
            test = _negated(test, known)
        tests.append(test)
        position = match.end()
    return Query(text, tuple(tests), frozenset(fields), frozenset(kinds))


def unfinished(text: str, at: int) -> bool:
    """Whether what is no filter may become one, if somebody types on at a point of it."""
    before, after = text[:at], text[at:]
    part = before[len(before.rstrip(string.ascii_letters + "_-")) :].lower()
    known = *KINDS, *jits.COMPILERS, *VERDICTS, *STATES, *_SIZES, *_AGES, "never"
    ends = ["1", "x", '"', 'x"', *(word[len(part) :] for word in known if word.startswith(part))]
    for end in ends:
        with contextlib.suppress(Problem):
            parse(f"{before}{end}{after}")
            return True
    return False


def bytes_in(text: str) -> int:
    """Bytes of a size as filters have it: 10G, 1.5 GiB. Raises Problem("bad-size")."""
    return int(_measured("bad-size", text, _SIZES))


def seconds_in(text: str) -> float:
    """Seconds of an age as in filters: 30d, 2w, 12h; days by default. Raises Problem("bad-age")."""
    return _measured("bad-age", text, _AGES)


def _measured(code: str, text: str, units: dict[str, int]) -> float:
    match = _NUMBER.fullmatch("".join(text.split()))
    if not match or match[2].lower() not in units:
        raise Problem(code, text=text[:80])
    return float(match[1]) * units[match[2].lower()]


def _negated(mask: Mask, known: Sequence[Mask]) -> Mask:
    """What a mask leaves out of what all of ``known`` let through."""

    def negated(entries: Sequence[Entry]) -> Iterable[bool]:
        told = map(op.not_, mask(entries))
        return map(all, zip(told, *(one(entries) for one in known), strict=True)) if known else told

    return negated


def _judged(entries: Sequence[Entry]) -> Iterable[bool]:
    """What has no verdict is no less of use for it: code of usable graphs is not “-is:usable”."""
    return [e.verdict is not None for e in entries]


def _is_read(entries: Sequence[Entry]) -> Iterable[bool]:
    """Nobody knows that what was not read is of another torch, or usable."""
    return [e.problem not in UNREAD for e in entries]


def _has_compiler(entries: Sequence[Entry]) -> Iterable[bool]:
    return [e.kind != "jit" or bool(jits.compiler(e.name)) for e in entries]


def _without_value(token: str) -> str:
    """A word without what may be a secret: whoever reads the error need not see it."""
    return re.sub(r"([:<>=]).*", r"\1…", token.strip(), flags=re.DOTALL)[:80]


def _term(token: str, match: re.Match[str] | None, now: float) -> Mask:
    if not match:
        word = token.strip('"').lower()
        if not word.strip("-"):
            # What a script left empty would match everything.
            raise Problem("bad-filter", token=token, why="a word is missing")
        return lambda entries: [
            word in e.key.lower() or (e.name is not None and word in e.name.lower())
            for e in entries
        ]
    field, operator, value = match[1].lower(), match[2], match[3].strip('"')
    if field not in FIELDS:
        # Taken as a word, a negated slip of the pen would match everything.
        import difflib  # only here: few words are mistyped

        fields = ", ".join(FIELDS)
        why = f"the fields are {fields}; put quotes around a text that you look for"
        for word in difflib.get_close_matches(field, FIELDS, 1):
            why = (f"did you mean “{word}”? The fields are {fields}; put quotes around a text that "
                   "you look for")  # fmt: skip
        raise Problem("bad-filter", token=_without_value(token), why=why)
    if not value:
        raise Problem("bad-filter", token=token, why="a value is missing")
    if field in ("kind", "torch", "device", "is", "owner", "vllm"):
        if operator not in (":", "="):
            raise Problem("bad-filter", token=token, why=f"{field} needs “:”")
        return _text_term(token, field, value.lower())
    if field == "expires" and value.lower() == "never":
        return lambda entries: [e.expires == 0 for e in entries]
    return _number_term(token, field, operator, value, now)


def _text_term(token: str, field: str, value: str) -> Mask:
    if field == "kind":
        return _kind_term(token, frozenset(value.split(",")))
    if field == "is":
        if mask := STATES.get(value):
            return mask
        if value not in VERDICTS:
            states = ", ".join(f"is:{name}" for name in (*VERDICTS, "unread", "orphan", "foreign"))
            raise Problem("bad-filter", token=token, why=f"the states are {states}")
        return lambda entries: [e.verdict == value for e in entries]
    if field == OWNER:
        from torchkeeper.stores.folders.owners import Accounts  # few filters ask for an owner

        if value in (Accounts().myself, "root"):
            # With a minus in front, everything would match.
            why = "is:foreign finds what other users own; -is:foreign finds the rest"
            raise Problem("bad-filter", token=token, why=why)
        return _prefix_term(OWNER, lambda x: x.lower() in (value, f"uid {value}"))
    if field == "vllm":
        return lambda entries: [_is_below(e.path, value) for e in entries]
    if field == "torch":
        return _prefix_term(field, lambda x: _version_matches(x.lower(), value))
    return _prefix_term(field, lambda x: any(d.startswith(value) for d in x.lower().split(",")))


def _kind_term(token: str, values: frozenset[str]) -> Mask:
    kinds = values & set(KINDS)
    compilers = {jits.compiler_called(value) for value in values - kinds}
    if "" in compilers:
        every = *KINDS, *jits.COMPILERS
        raise Problem("bad-filter", token=token, why=f"the kinds are {', '.join(every)}")
    if not compilers:
        return lambda entries: [e.kind in kinds for e in entries]
    return lambda entries: [
        e.kind in kinds or (e.kind == "jit" and jits.compiler(e.name) in compilers) for e in entries
    ]


def _is_below(path: str, value: str) -> bool:
    """Whether a path leads through a folder that begins so, among those of vLLM's."""
    folders = path.lower().split("/")[:-1]
    ranks = any(map(layout.RANK.fullmatch, folders)) or layout.in_tree(path)
    return ranks and any(folder.startswith(value) for folder in folders)


def _prefix_term(field: str, matches: Callable[[str], bool]) -> Mask:
    """Whether a text of which many entries have the same few matches."""
    get = op.attrgetter(field)

    def mask(entries: Sequence[Entry]) -> Iterable[bool]:
        texts = list(map(get, entries))
        good = {text for text in set(texts) if text is not None and matches(text)}
        return map(good.__contains__, texts)

    return mask


def _version_matches(version: str, wanted: str) -> bool:
    # torch:2.1 is not to match 2.13; torch:2.13.0 is to match 2.13.0+cpu.
    rest = version[len(wanted) :]
    return version.startswith(wanted) and not (rest[:1].isdigit() and wanted[-1:].isdigit())


def _number_term(token: str, field: str, operator: str, value: str, now: float) -> Mask:
    units = {"size": _SIZES, "files": {"": 1}, "compile": _SECONDS}.get(field, _AGES)
    match = _NUMBER.fullmatch(value)
    if not match or match[2].lower() not in units:
        known = ", ".join(unit for unit in units if unit) or "none"
        raise Problem("bad-filter", token=token, why=f"it needs a number; units: {known}")
    if operator == ":":
        raise Problem("bad-filter", token=token, why=f"{field} needs <, >, <=, >= or =")
    limit = round(float(match[1]) * units[match[2].lower()], 6)  # 2.01M is 2010000, no hair more
    compare = _COMPARE[operator]
    get: Callable[[Entry], float | None] = op.attrgetter(_ATTRIBUTES.get(field, field))

    def numbers(entries: Sequence[Entry]) -> list[float]:
        """What is not known compares as nothing does."""
        if field == "expires":
            # What never does is later than any time.
            return [nan if x is None else x - now if x else inf for x in map(get, entries)]
        if field in ("age", "used"):
            return [nan if x is None else now - x for x in map(get, entries)]
        return [nan if x is None else x for x in map(get, entries)]

    return lambda entries: map(compare, numbers(entries), repeat(limit))
