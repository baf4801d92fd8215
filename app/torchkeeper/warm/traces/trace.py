"""Reads the structured trace that a program left: which graphs were looked up, and how that ended.

With ``TORCH_TRACE=<folder>`` PyTorch writes a file for each process (``LazyTraceHandler`` in
torch/_logging/_internal.py). What ``warm.traces.graphs`` hears live is read here afterwards. A
trace may come from anybody: nothing in it is followed, sizes and counts are bounded, and what is
not understood is counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from torchkeeper.artifacts import fxgraph
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.warm.traces import graphs as live

# The records of a trace's file. One is a line with a prefix and JSON, and may have a payload: the
# lines after it, each with a tab in front, whose MD5 stands in the JSON (``trace_structured`` and
# ``TorchLogsFormatter`` in torch/_logging/_internal.py).

#: Bytes of a line, and of a payload.
MAX_LINE = 32 << 20
#: Bytes between two looks at whether the user wants an end.
_TURN = 1 << 20

_PREFIX = re.compile(rb"[VIWEC]\d{4} [\d:.]{8,20} +(\d{1,10}) [^\]\n]{1,1000}\] (?=\{)")
#: The records that tell something; the others are passed over without a look.
_TELLING = (
    b'"artifact"', b'"chromium_event"', b'"dynamo_start"', b'"str"', b'"compilation_metrics"',
    b'"dynamo_output_graph"',
)  # fmt: skip


@dataclass
class Record:
    """One record. metadata is empty for those that tell nothing; pid is of the process."""

    metadata: Mapping[str, Any]
    pid: str
    telling: bool
    lines: list[bytes] = field(default_factory=list, repr=False)
    size: int = 0

    def payload(self) -> tuple[str, bool]:
        """The payload, and whether it is the one that was written."""
        expected = self.metadata.get("has_payload")
        if expected is None:
            return "", True
        data = b"\n".join(self.lines)
        if self.size > MAX_LINE or hashlib.md5(data, usedforsecurity=False).hexdigest() != expected:
            return "", False
        return data.decode("utf-8", "replace"), True


def _lines(file: IO[bytes], report: Report) -> Iterator[bytes]:
    size, looked = os.fstat(file.fileno()).st_size, 0
    while line := file.readline(MAX_LINE):
        looked += len(line)
        if looked > _TURN:
            report.check()
            report.progress(file.tell(), size, "bytes")
            looked = 0
        yield line


def of(lines: Iterable[bytes]) -> Iterator[Record | None]:
    """The records of lines, in order; None for each line that is none and belongs to none."""
    current: Record | None = None
    whole = True
    for line in lines:
        begins, whole = whole, line.endswith(b"\n")
        if not begins:
            continue  # the rest of a line that is too long
        if line.startswith(b"\t"):
            if current is None:
                yield None
            elif current.telling and current.size <= MAX_LINE:
                current.size += len(line)
                current.lines.append(line[1:].removesuffix(b"\n"))
            continue
        if current:
            yield current
        current = _begun(line)
        if current is None and line.strip():
            yield None
    if current:
        yield current


def _begun(line: bytes) -> Record | None:
    if not (match := _PREFIX.match(line)):
        return None
    text = line[match.end() :]
    pid = match[1].decode()
    if not any(name in text for name in _TELLING):
        return Record({}, pid, False) if text.rstrip().endswith(b"}") else None
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return Record(metadata, pid, True) if isinstance(metadata, dict) else None


Factor = tuple[str, str, str]

#: Files, bytes of all files, and graphs that are read; the rest is left out.
MAX_FILES, MAX_BYTES, MAX_GRAPHS = 1000, 4 << 30, 20_000
#: Graphs whose times are looked at: some are never looked up.
_MAX_PARTS = 3 * MAX_GRAPHS
#: Names of files, and compiles, of which something is remembered.
_MAX_NAMES = 100_000
#: Characters of factors and graphs kept in all: each whole, as a part would be taken for all.
MAX_KEPT = 200_000_000
#: Characters of a name or a reason.
_MAX_TEXT = 1000

#: What a record raises that is not as PyTorch writes it.
_ODD = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)
_KEY = re.compile(r"[a-z0-9]{1,80}")
_AOT = re.compile(r"aotautograd_cache_(hit|miss|bypass)")
#: An entry of AOTAutograd that holds its graphs itself (aot_autograd_result.py).
_BUNDLED = "fx_graph_bundled_cache_hit"
#: The graph as it is compiled, with the lines of the model in comments (compile_fx.py).
_TEXT = "inductor_post_grad_graph"
_RANK = re.compile(r"_rank_(\d{1,6})_")


@dataclass
class Graph:
    """One FX graph that was looked up. seconds: what compiling it took, or what a hit saved; None
    where that is not told. reason: why it was not looked up, for a bypass. guarded: the key was
    there, and its guards did not hold. cut: its record is not whole. at: seconds since the epoch.
    text: the graph as it was compiled, with the lines of the model in comments. phases: where the
    time went, from when PyTorch began with it, if the trace tells. failed: why its compile failed,
    so that nothing of it was kept; empty where it did not. inputs: the names that the program has
    for inputs, by their numbers, as far as they are known.
    """

    process: str
    compile_id: str
    direction: str
    name: str
    where: str
    outcome: str
    key: str | None = None
    seconds: float | None = None
    reason: str | None = None
    guarded: bool = False
    aot: str | None = None
    cut: bool = False
    at: float | None = None
    factors: list[Factor] = field(default_factory=list, repr=False)
    text: str = field(default="", repr=False)
    phases: tuple[live.Phase, ...] = ()
    failed: str = ""
    inputs: dict[int, str] = field(default_factory=dict, repr=False)

    @property
    def id(self) -> str:
        """As PyTorch calls the compile, and the direction."""
        return f"{self.compile_id} {self.direction}".strip()


@dataclass
class Aot:
    """One AOTAutograd lookup. found: whether the entry was there, for what is no hit."""

    process: str
    compile_id: str
    name: str
    outcome: str
    key: str | None = None
    seconds: float | None = None
    reason: str | None = None
    found: bool = False


@dataclass
class Trace:
    """What a trace tells. odd: lines that are no records; cut: records that are not whole.
    compiles: how often a compile began, with a lookup or without. full: not all was read.
    """

    graphs: list[Graph] = field(default_factory=list)
    aot: list[Aot] = field(default_factory=list)
    torch: str | None = None
    files: int = 0
    compiles: int = 0
    odd: int = 0
    cut: int = 0
    full: bool = False


def files_in(folder: str) -> list[str]:
    """The files of a trace: those of a folder that PyTorch names so, else all with ``.log``. A path
    of a file is that file alone. Raises Problem("trace-missing") and Problem("place-unreadable").
    """
    if os.path.isfile(folder):
        return [folder]
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.is_file(follow_symlinks=False)]
    except FileNotFoundError as e:
        raise Problem("trace-missing", place=folder) from e
    except OSError as e:
        raise Problem("place-unreadable", place=folder, why=e.strerror or str(e)) from e
    logs = sorted(name for name in names if name.endswith(".log"))
    own = [name for name in logs if name.startswith("dedicated_log_torch_trace_")]
    return [os.path.join(folder, name) for name in own or logs]


def read(folder: str, report: Report, without: Collection[str] = ()) -> Trace:
    """The trace in a folder, or in one file, but for the files ``without``. Raises
    Problem("trace-missing" | "place-unreadable"), and "trace-empty" where nothing there is one.
    """
    trace = Trace()
    paths = [path for path in files_in(folder) if path not in without]
    trace.full = len(paths) > MAX_FILES
    size = 0
    kept = _Kept()
    for path in paths[:MAX_FILES]:
        report.check()
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as e:
            raise Problem("place-unreadable", place=path, why=e.strerror or str(e)) from e
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                continue
            size += found.st_size
            if size > MAX_BYTES:
                trace.full = True
                break
            trace.files += 1
            _File(path, trace, kept).read(file, report)
    if trace.odd and not (trace.compiles or trace.graphs or trace.torch):
        raise Problem("trace-empty", place=folder)
    return trace


@dataclass
class _Kept:
    """What the graphs of a trace share: most factors are those of other graphs, too."""

    factors: dict[str, Factor] = field(default_factory=dict)
    #: Characters of all that is kept, and graphs whose times are.
    size: int = 0
    parts: int = 0

    def has_room(self, more: int) -> bool:
        """Whether so many characters may be kept; if so, they are counted."""
        if self.size + more > MAX_KEPT:
            return False
        self.size += more
        return True


class _File:
    """The file of one process; several where it forked, or a rank's."""

    def __init__(self, path: str, trace: Trace, kept: _Kept) -> None:
        rank = _RANK.search(os.path.basename(path))
        self._rank = f"rank {rank[1]}" if rank else ""
        self._trace = trace
        self._kept = kept
        self._names: dict[int, str] = {}
        self._functions: dict[tuple[str, str], tuple[str, str]] = {}
        self._graphs: dict[tuple[str, str], dict[str, Graph]] = {}
        self._aot: dict[tuple[str, str], Aot] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._given: dict[tuple[str, str], list[tuple[str, str]]] = {}
        #: Why whole compiles failed.
        self._failed: dict[tuple[str, str], str] = {}
        #: What whole compiles took.
        self._took: dict[tuple[str, str], float] = {}
        #: When the parts of compiles began and ended, and the graphs whose times those are.
        self._times: dict[tuple[str, str], live.Compile] = {}
        self._of_part: dict[int, tuple[live.Part, Graph]] = {}
        #: The graphs that a compile's own record has been about.
        self._measured: set[int] = set()

    def read(self, file: IO[bytes], report: Report) -> None:
        for record in of(_lines(file, report)):
            if record is None:
                self._trace.odd += 1
                continue
            try:
                self._take(record)
            except _ODD:
                self._trace.odd += 1
        for part, graph in self._of_part.values():
            graph.phases = part.phases()
        for where, aot in self._aot.items():
            graphs = self._graphs.get(where, {})
            if not graphs:
                self._bundled(where, aot)
            for graph in graphs.values():
                graph.aot, aot.name = aot.outcome, f"{graph.name} {graph.where}".strip()
                if graph.key is None and not graph.cut and aot.outcome == graph.outcome == "hit":
                    graph.key = aot.key
                    graph.seconds = aot.seconds if len(graphs) == 1 else None
        for where, why in self._failed.items():
            for graph in self._graphs.get(where, {}).values():
                graph.failed = why
        self._trace.aot += self._aot.values()

    def _bundled(self, where: tuple[str, str], aot: Aot) -> None:
        """The lookup stands for graphs that AOTAutograd's entry holds itself."""
        name, line = self._named(where)
        seconds = self._took.get(where) if aot.outcome != "hit" else aot.seconds
        parts = self._times[where].parts if where in self._times else ()
        graph = Graph(*where, "", name, line, aot.outcome, aot.key, seconds, aot.reason)
        graph.aot, graph.failed = aot.outcome, self._failed.get(where, "")
        graph.phases = parts[0].phases() if parts else ()
        if len(self._trace.graphs) < MAX_GRAPHS:
            self._trace.graphs.append(graph)

    def _take(self, record: Record) -> None:
        metadata = record.metadata
        if isinstance(named := metadata.get("str"), list) and len(self._names) < _MAX_NAMES:
            self._names[int(named[1])] = str(named[0])[:_MAX_TEXT]
        if not record.telling:
            return
        where = self._rank or f"process {record.pid}", live.id_of(metadata)[:80]
        if "chromium_event" in metadata:
            self._happened(where, record)
            return
        if isinstance(start := metadata.get("dynamo_start"), dict):
            if metadata.get("attempt", 0) == 0:
                self._trace.compiles += 1
            frame = start["stack"][-1]
            file = os.path.basename(self._names.get(frame.get("filename"), ""))
            line = f"{file}:{int(frame['line'])}" if file else ""
            if self._fits(where, self._functions):
                self._functions[where] = str(frame["name"])[:200], line[:200]
        name = self._functions.get(where, ("",))[0]
        if "dynamo_output_graph" in metadata:
            # The graph as it was traced has the lines of the user's program, and its names.
            text = record.payload()[0]
            if name in fxgraph.WRAPPERS:
                self._functions[where] = fxgraph.function(text) or self._functions[where]
            if self._fits(where, self._given) and self._kept.has_room(len(text) // 4):
                self._given[where] = fxgraph.given(text)
        if isinstance(metrics := metadata.get("compilation_metrics"), dict):
            self._measure(where, metrics.get("inductor_compile_time_s"))
            if (kind := metrics.get("fail_type")) and self._fits(where, self._failed):
                said = str(metrics.get("fail_reason") or kind).strip().split("\n", 1)[0]
                self._failed[where] = said[:_MAX_TEXT]
        artifact = metadata.get("artifact")
        if not isinstance(artifact, dict):
            return
        name = str(artifact.get("name"))
        if name == "torch_version" and self._trace.torch is None:
            version = json.loads(record.payload()[0]).get("pytorch_version")
            self._trace.torch = str(version)[:80] if version else None
        elif found := live.OUTCOME.fullmatch(name):
            self._lookup(where, found[1], record)
        elif name == _BUNDLED:
            self._lookup(where, "hit", record)
        elif found := _AOT.fullmatch(name):
            self._aot_lookup(where, found[1], record)
        elif name == _TEXT:
            text = record.payload()[0]
            if self._fits(where, self._texts):
                self._texts[where] = text if self._kept.has_room(len(text)) else ""

    @staticmethod
    def _fits(where: tuple[str, str], known: Collection[tuple[str, str]]) -> bool:
        return where in known or len(known) < _MAX_NAMES

    def _happened(self, where: tuple[str, str], record: Record) -> None:
        # What has no id ran beside a compile, which waited for it.
        if not where[1] or self._kept.parts > _MAX_PARTS:
            return
        happened = live.event(record.payload()[0])
        if happened and (where in self._times or len(self._times) < MAX_GRAPHS):
            times = self._times.setdefault(where, live.Compile())
            before = len(times.parts)
            times.take(happened)
            self._kept.parts += len(times.parts) - before

    def _said(self, record: Record) -> tuple[Mapping[str, Any], bool]:
        payload, whole = record.payload()
        said = json.loads(payload) if whole else None
        if isinstance(said, dict):
            return said, True
        self._trace.cut += 1
        return {}, False

    def _named(self, where: tuple[str, str], factors: Sequence[Factor] = ()) -> tuple[str, str]:
        """A graph's name, as that of its entry begins, and where its function is."""
        found = self._functions.get(where)
        name = fxgraph.title(found, fxgraph.inputs(factors), (), None)
        return name or "", found[1] if found else ""

    def _lookup(self, where: tuple[str, str], outcome: str, record: Record) -> None:
        if len(self._trace.graphs) >= MAX_GRAPHS:
            self._trace.full = True
            return
        said, whole = self._said(record)
        factors = self._read_factors(said.get("components"))
        key = _key(said.get("key"))
        known = self._graphs.setdefault(where, {})
        # An AOTAutograd entry asks in vain, and then the graph is compiled: it is one graph.
        graph = known.get(key or "") if key else None
        if graph is None:
            direction = live.direction_of(len(known))
            for _, factor, value in factors:
                if factor == "fx_kwargs[is_backward]":
                    direction = "backward" if value.strip() == "True" else "forward"
            graph = Graph(*where, direction, "", "", outcome, key)
            known[key or f"no key {len(known)}"] = graph
            self._trace.graphs.append(graph)
            if where in self._times and (part := self._times[where].part):
                self._of_part.setdefault(id(part), (part, graph))
        graph.outcome, graph.cut = outcome, not whole
        graph.factors = factors or graph.factors
        # It stands before the record of the lookup, which is written when all is compiled.
        graph.text = self._texts.pop(where, "") or graph.text
        graph.name, graph.where = self._named(where, graph.factors)
        graph.inputs = fxgraph.called_inputs(graph.factors, self._given.get(where, []))
        spent = said.get("time_taken_ns" if outcome == "miss" else "time_saved_ns")
        graph.seconds = _seconds(spent)
        graph.at = _seconds(said.get("cache_event_time"), 1e19)
        graph.guarded = said.get("cache_status_detailed") == "guard_miss"
        graph.reason = _text(said.get("cache_bypass_reason")) if outcome == "bypass" else None

    def _measure(self, where: tuple[str, str], seconds: Any) -> None:
        """What a compile took, where that was one graph, which was bypassed: nothing else tells."""
        graphs = self._graphs.get(where, {}).values()
        compiled = [x for x in graphs if x.outcome != "hit" and id(x) not in self._measured]
        self._measured.update(map(id, compiled))
        took = _seconds(seconds * 1e9) if _is_number(seconds) else None
        if took is not None and self._fits(where, self._took):
            self._took[where] = took
        if len(compiled) == 1 and compiled[0].outcome == "bypass":
            compiled[0].seconds = took

    def _aot_lookup(self, where: tuple[str, str], outcome: str, record: Record) -> None:
        if len(self._aot) >= MAX_GRAPHS:
            self._trace.full = True
            return
        said, _ = self._said(record)
        saved = said.get("time_saved_ms")
        seconds = _seconds(saved * 1e6 if isinstance(saved, (int, float)) else None)
        name, reason = " ".join(filter(None, self._named(where))), said.get("cache_bypass_reason")
        found = outcome == "miss" and said.get("cache_status_detailed") == "hit"
        key = _key(said.get("key"))
        self._aot[where] = Aot(*where, name, outcome, key, seconds, _text(reason), found)

    def _read_factors(self, lines: Any) -> list[Factor]:
        """The key factors; those that graphs share, which are most, are kept once."""
        known, found = self._kept.factors, list[Factor]()
        if isinstance(lines, list) and len(lines) > fxgraph.MAX_FACTORS:
            self._trace.full = True
            return found
        for line in lines if isinstance(lines, list) else ():
            if not isinstance(line, str):
                continue
            if line not in known:
                for one in fxgraph.key_factors([line]):
                    if not self._kept.has_room(2 * len(line)):
                        self._trace.full = True
                        return []  # some of them would be compared as if they were all
                    known[line] = one
            if line in known:
                found.append(known[line])
        return found


def _key(value: Any) -> str | None:
    return value if isinstance(value, str) and _KEY.fullmatch(value) else None


def _text(value: Any) -> str | None:
    return value[:_MAX_TEXT] if isinstance(value, str) and value else None


def _seconds(nanoseconds: Any, limit: float = 1e18) -> float | None:
    told = _is_number(nanoseconds) and 0 < nanoseconds < limit
    return float(nanoseconds) / 1e9 if told else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
