"""What vLLM writes beside its compiled pieces: the factors of a key, and what names tell.

Sources: vllm/compilation/backends.py (VllmBackend, CompilerManager), caching.py, config/utils.py
(hash_factors) and envs.py (compile_factors) of vLLM 0.12.0 to 0.33.0, which is since when it writes
the factors. All of it is read as text: a name of a folder is the hash of four factors, of which one
is made of all variables that count, and these stand beside it as they were.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from torchkeeper.artifacts import beside
from torchkeeper.artifacts.patterns import regex

#: Bytes of factors, of a graph and of a list of pieces that are read; 0.33.0 has 8 kB of factors.
MAX_FACTORS, MAX_GRAPH, MAX_INDEX = 128 << 10, 8 << 20, 1 << 20
#: The factors besides the variables, and how long each text may be.
HASHES = ("config", "code", "compiler")
_MAX_HASH = 100
#: Characters of the names of files that are told of a graph.
_MAX_SOURCES = 16 << 10
#: A piece as vLLM names it: the sizes that it is for, both included, and its number in the graph.
_PIECE = regex(r"artifact_compile_range_(\d{1,10})_(\d{1,10})_subgraph_(\d{1,6})", re.ASCII)
#: A piece in the list of them: its name, and its path, which is that alone where the list has no
#: folder; as texts of Python's without what it escapes. Paths of Inductor's code are not used.
_INDEXED = re.compile(rb"'(artifact_[^'/\\\n]{1,200})',(\s{1,4000})'(/(?:[^'\\\n]{1,4000}/)?)?\1'")
#: A text of Python's without what it escapes; an entry of a list, the sizes, the piece and the
#: compiler that it is for, and what that was told, a dictionary or a pair of texts.
_TEXT = rb"'[^'\\\n]{0,4000}'"
_VALUE = rb"(?:[^(){}'\\]|%b){0,9000}" % _TEXT
_ENTRY = re.compile(
    rb"(\((?:\(\d{1,10}, \d{1,10}\)|None|\d{1,10}), \d{1,6}, '\w{1,60}'\)):\s{1,400}"
    rb"(\{(?:%b\(%b\)){0,9}%b\}|\(%b\))(,\s{1,9}|\}\s{0,2}\Z)" % (_VALUE, _VALUE, _VALUE, _VALUE)
)
_ARTIFACT = re.compile(rb"'(artifact_[^'/\\\n]{1,200})'")
#: Where a line of the model stands, as print_readable of torch.fx writes it.
_SOURCE = re.compile(r"^[ \t]*# File: (/[^\n:]{1,400}\.py):\d+ in ", re.MULTILINE)
#: The file of a model's own code, of vLLM's models or a plugin's.
_MODEL = re.compile(r"/models/(\w{1,80})\.py\Z", re.ASCII)
#: What leads to the folder of a rank: what is above it, the folder of its key, and its own.
_RANKED = regex(rf"(?:.*?/)??(?:([^/]+)/)?({beside.RANK})/.*")
_NUMBER = re.compile(r"\d+", re.ASCII)
#: The folders that have those of keys, and that the caches of a server are in.
_KEYS, _SERVERS = {"torch_compile_cache", "torch_aot_compile"}, {"vllm", "sglang"}


class Rank(NamedTuple):
    """Where something lies: the name of its key's folder, "" where the path does not lead through
    that, and of the rank's.
    """

    key: str
    name: str

    @property
    def order(self) -> tuple[str, tuple[int, ...]]:
        """What ranks are put in order by: 10 comes after 9."""
        return self.key, tuple(int(number) for number in _NUMBER.findall(self.name))


def rank_of(path: str) -> Rank:
    """Through which rank's folder a path leads; without a name where through none."""
    match = _RANKED.fullmatch(path) if "rank_" in path else None
    return Rank(*match.groups("")) if match else Rank("", "")


def has_ranks(place: str) -> bool:
    """Whether a place is one in which folders of ranks are, by its path."""
    *above, name = place.rstrip("/").split("/")
    return not rank_of(f"{place}/").name and (
        name in _KEYS | _SERVERS or not _KEYS.isdisjoint(above)
    )


class Factors(NamedTuple):
    """What a key was made of. env: variables, each value as JSON; the others are hashes, "" where
    the file has none.
    """

    env: Mapping[str, str]
    config: str
    code: str
    compiler: str

    @property
    def hashes(self) -> dict[str, str]:
        """Those that are known, by HASHES."""
        every = {"config": self.config, "code": self.code, "compiler": self.compiler}
        return {name: text for name, text in every.items() if text}


class Piece(NamedTuple):
    """A compiled part of a graph: for inputs of sizes from ``low`` to ``high``."""

    low: int
    high: int
    number: int

    @property
    def sizes(self) -> str:
        """As vLLM would say them; tokens are what it counts."""
        both = self.low == self.high
        return f"size {self.low}" if both else f"sizes {self.low} to {self.high}"


def text_of(value: object) -> str:
    """A value of a variable as it is told and compared."""
    return json.dumps(value, sort_keys=True)


def factors(data: bytes) -> Factors | None:
    """The factors in a file; None of one that was cut, or is not vLLM's."""
    try:
        said = json.loads(data) if len(data) < MAX_FACTORS else None
        if not isinstance(said, dict):
            return None
        env = said.get("env")
        listed = env.items() if isinstance(env, dict) else ()
        values = {name: text_of(value) for name, value in listed}
    except (ValueError, RecursionError):
        return None
    hashes = (said.get(f"{name}_hash") for name in HASHES)
    return Factors(values, *(x[:_MAX_HASH] if isinstance(x, str) else "" for x in hashes))


def folder(of: Factors) -> str:
    """What vLLM calls the folder of these factors; "" where not all are known, or another machine
    has told what is no JSON.
    """
    if not of.env or len(of.hashes) < len(HASHES):
        return ""
    try:
        env = {name: json.loads(text) for name, text in of.env.items()}
        made = hashlib.sha256(json.dumps(env, sort_keys=True).encode()).hexdigest()
    except (ValueError, RecursionError):
        return ""
    parts = [made, of.config, of.code, of.compiler]
    return hashlib.sha256(str(parts).encode()).hexdigest()[:10]


def piece(name: str) -> Piece | None:
    """What a name of an artifact tells; None of what has another name."""
    match = _PIECE.fullmatch(name)
    return Piece(*map(int, match.groups())) if match else None


def index_for(data: bytes, folder: str) -> bytes:
    """The list of the pieces of a graph, with their paths in ``folder``, or relative with "". vLLM
    before 0.32 loads a piece from the path that stands there, and later ones by its name.
    """
    above = f"{folder.rstrip('/')}/" if folder else ""
    if "'" in above or "\\" in above or not above.isprintable():
        return data  # nor would vLLM write it so
    path = os.fsencode(above)
    return _INDEXED.sub(lambda m: b"'%b',%b'%b%b'" % (m[1], m[2], path, m[1]), data)


def merged(there: bytes, new: bytes, exists: Callable[[str], bool]) -> bytes | None:
    """A list of pieces with those of another that it lacks and that exist, by their names; the very
    same bytes where it lacks none. None where one of them is no list as vLLM or SGLang writes it.
    """
    own, other = _entries(there), _entries(new)
    if own is None or other is None:
        return None
    names = {key: map(os.fsdecode, _ARTIFACT.findall(value)) for key, value in other.items()}
    more = {key: other[key] for key in other.keys() - own if all(map(exists, names[key]))}
    if not more:
        return there
    texts = (b"%b: %b" % pair for pair in [*own.items(), *sorted(more.items())])
    return b"{   " + b",\n    ".join(texts) + b"}"


def _entries(data: bytes) -> dict[bytes, bytes] | None:
    """What a list says of each of its pieces; None of what is no list."""
    begin = re.match(rb"\{\s{0,9}", data)
    found, entry = dict[bytes, bytes](), begin
    while entry and entry.end() < len(data) and (entry := _ENTRY.match(data, entry.end())):
        found[entry[1]] = entry[2]
    return found if entry and found and entry[3].startswith(b"}") else None


def listed_in(data: bytes) -> set[str]:
    """The folders that a list of pieces has them in."""
    return {os.fsdecode(m[3]) for m in _INDEXED.finditer(data) if m[3]}


def sources(graph: str) -> list[str]:
    """The files whose lines a graph names, in order; vLLM's hash of the code is over these and
    others that were traced, with their paths.
    """
    found, left = list[str](), _MAX_SOURCES
    for path in sorted(set(_SOURCE.findall(graph))):
        left -= len(path)
        if left > 0:
            found.append(path)
    return found


def model(files: list[str]) -> str:
    """What the file with a model's code is called; "" where no path tells, or several do."""
    found = {match[1] for path in files if (match := _MODEL.search(path))} - {"utils", "interfaces"}
    return found.pop() if len(found) == 1 else ""
