"""Who can use the entries of a place: verdicts in environments that were probed before. Graphs and
code are judged at once, as graphs depend on the code they name, and AOTAutograd entries on their
graphs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import VERDICTS, WITHOUT_VERDICT
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.detail import GRAPHS, factors_of
from torchkeeper.engine.protocol import MAX_ROWS
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import in_order
from torchkeeper.stores.needs import YOUNG
from torchkeeper.stores.reader import Budget, Reader
from torchkeeper.stores.store import Store
from torchkeeper.verdict import autograd, judging
from torchkeeper.verdict.judging import Difference, Verdict
from torchkeeper.verdict.native import Code

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env

_Factors = dict[str, list[tuple[str, str, str]]]
_NONE = Verdict(None)
#: Of a graph that was not seen and may be there all the same.
_UNSEEN = judging.unknown("presence")
#: Kinds of which the verdict of one may depend on another one.
_JOINED = frozenset({*GRAPHS, "code"})
_RANKS: dict[str | None, int] = {name: rank for rank, name in enumerate(VERDICTS)}


def judged(
    reader: Reader, store: Store, batches: Iterable[list[Described]], envs: Sequence[Env],
    report: Report,
) -> Iterator[tuple[list[Described], list[Verdict]]]:  # fmt: skip
    """All entries of the open store, as they come, with their verdicts; of several environments the
    best. What comes from the first one on that may depend on others comes at last.
    """
    alone = [_Judge({}, env, None, store.remote_cache) for env in envs]
    waiting = list[Described]()
    for batch in batches:
        if waiting or not _JOINED.isdisjoint([one.entry.kind for one in batch]):
            waiting += batch
        else:
            yield batch, _best(batch, [judge.all(batch) for judge in alone])
    said = _best(waiting, in_each(reader, store, waiting, envs, report))
    for start in range(0, len(waiting), MAX_ROWS):
        yield waiting[start : start + MAX_ROWS], said[start : start + MAX_ROWS]


def _best(found: list[Described], every: Iterable[list[Verdict]]) -> list[Verdict]:
    """Of the verdicts of entries in each environment the best; the entries have them then."""
    best: list[Verdict] | None = None
    for said in every:
        best = said if best is None else list(map(better, best, said))
    if best is None:
        return [_NONE] * len(found)
    for one, said_of in zip(found, best, strict=True):
        one.entry = one.entry._replace(verdict=said_of.verdict)
    return best


def in_each(
    reader: Reader, store: Store, found: list[Described], envs: Sequence[Env], report: Report
) -> Iterator[list[Verdict]]:
    """The verdicts of all entries of the open store, in one environment after the other."""
    factors = _factors(reader, store, found, report)
    # A scan of a server may miss what is written meanwhile, and a folder what cannot be read.
    sure = time.time() - YOUNG if store.whole and store.complete else None
    for env in envs:
        report.check()
        yield _Judge(factors, env, sure, store.remote_cache).all(found)


def better(one: Verdict, other: Verdict) -> Verdict:
    return min(one, other, key=lambda said: _RANKS.get(said.verdict, len(_RANKS)))


def _factors(reader: Reader, store: Store, found: list[Described], report: Report) -> _Factors:
    """The key factors of each group, read in full from the first of its entries that has them."""
    waiting: dict[str, list[Described]] = {}
    for one in found:
        group = one.facts.get("group")
        if group and one.entry.kind in GRAPHS and not one.entry.problem:
            waiting.setdefault(group, []).append(one)
    factors: _Factors = {}
    budget = Budget()
    while waiting:
        firsts = [ones.pop(0) for ones in waiting.values()]
        items = in_order(one.origin or one.item for one in firsts)
        for batch in store.read(items, reader, report, full=True, budget=budget):
            for one in batch:
                if (group := one.facts.get("group")) in waiting:
                    factors[str(group)] = factors_of(one.facts)
        # What is gone or changed meanwhile tells nothing; the next of its group does.
        waiting = {g: ones for g, ones in waiting.items() if ones and g not in factors}
    return factors


def _built(found: list[Described]) -> dict[str, list[Described]]:
    """What was built of kernels, by the digest of their text: of one text for each command line."""
    built: dict[str, list[Described]] = {}
    for one in found:
        digest = one.facts.get("digest") if one.entry.kind == "code" else None
        if digest and any(file.path.endswith(".so") for file in one.item.files):
            built.setdefault(digest, []).append(one)
    return built


def _beside(found: list[Described], own: list[Verdict]) -> list[Verdict]:
    """The verdicts of FX graphs, given the other payloads of their keys: PyTorch takes the first
    whose guards hold, whatever CPU it is for and whatever graph it is of (iterate_over_candidates
    in torch/_inductor/codecache.py).
    """
    payloads: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        if one.entry.kind == "fxgraph":
            payloads.setdefault(one.entry.key, []).append(number)
    for numbers in payloads.values():
        if len(numbers) > 1 and any(judging.taken_blindly(own[number]) for number in numbers):
            for number in numbers:
                if own[number].verdict in ("usable", "conditional"):
                    unsure = Difference("another payload of its key")
                    own[number] = Verdict("unknown", (unsure,), own[number].conditions)
    return own


class _Judge:
    def __init__(self, factors: _Factors, env: Env, sure: float | None, server: str | None) -> None:
        """sure: what entries from before that time need has been seen if it is there; None where
        that is never sure. server: the place where it is a remote cache.
        """
        self._server = server
        self._env = env
        self._sure = sure
        self._factors = factors
        #: Graphs of one group, torch, device and code are the same to it.
        self._said: dict[tuple[str, str | None, str | None, str, Code], Verdict] = {}
        self._built: dict[str, list[Described]] = {}
        #: Of Triton's kernels, by what decides.
        self._kernels: dict[tuple[Any, ...], Verdict] = {}
        #: What came of verdicts of an entry and of the graphs it names.
        self._joined: dict[tuple[int, ...], Verdict] = {}

    def all(self, found: list[Described]) -> list[Verdict]:
        self._built = _built(found)
        own = _beside(found, [self._own(one) for one in found])
        graphs: dict[str, Verdict] = {}
        for one, said in zip(found, own, strict=True):
            if one.entry.kind == "fxgraph":
                # Any payload of a key may be the one that is taken.
                known = graphs.get(one.entry.key)
                graphs[one.entry.key] = said if known is None else better(known, said)
        return [
            self._with_graphs(one, said, graphs) if one.entry.kind == "aotautograd" else said
            for one, said in zip(found, own, strict=True)
        ]

    def _own(self, one: Described) -> Verdict:
        kind = one.entry.kind
        if kind in WITHOUT_VERDICT:
            return _NONE
        if said := judging.damaged(one.entry):
            return said
        if kind in GRAPHS:
            own = one.facts.get("own_key")
            if own and own != one.entry.key:
                # PyTorch would take it for what it is not.
                return Verdict("broken", (Difference("key", own, one.entry.key),))
            return self._graph(one)
        return self._other(one)

    def _other(self, one: Described) -> Verdict:
        facts = one.facts
        known_by = one.entry.device, facts.get("triton"), facts.get("warp")
        if one.entry.kind != "triton" or any(isinstance(x, (list, dict)) for x in known_by):
            return self._looked_for(one, judging.other(one.entry, facts, self._env))
        if known_by not in self._kernels:
            said = judging.other(one.entry, facts, self._env)
            self._kernels[known_by] = self._looked_for(one, said)
        return self._kernels[known_by]

    def _graph(self, one: Described) -> Verdict:
        entry = one.entry
        group = one.facts.get("group") or ""
        code, broken = self._code(one)
        if broken:
            return Verdict("broken", (Difference("code", broken),))
        known_by = entry.kind, entry.torch, entry.device, group, code
        if known_by not in self._said:
            factors = self._factors.get(group)
            said = judging.graph(entry.torch, entry.device, factors, self._env, code)
            self._said[known_by] = self._looked_for(one, said)
        return self._said[known_by]

    def _looked_for(self, one: Described, said: Verdict) -> Verdict:
        """What is said of an entry by itself, given whether programs look for it where it is."""
        kind = one.entry.kind
        if self._server is not None:
            return autograd.looked_for(kind, one.entry.key, self._server, said, self._env)
        return judging.looked_for(kind, said, self._env) if kind in GRAPHS else said

    def _code(self, one: Described) -> tuple[Code, str | None]:
        """What a graph has for the CPU; and the key of what PyTorch would load of it, and fail."""
        objects = []
        for _, digest in one.facts.get("kernels") or ():
            if built := self._built.get(digest):
                bad = [other.entry.key for other in built if other.entry.broken]
                if len(bad) == len(built):
                    return Code(), bad[0]
                said = [None if x.entry.problem else x.facts.get("instructions") for x in built]
                objects.append(frozenset(said))
        facts = one.facts
        return Code(facts.get("widths"), frozenset(objects), facts.get("libs")), None

    def _with_graphs(self, one: Described, said: Verdict, graphs: dict[str, Verdict]) -> Verdict:
        if said.verdict == "broken" or one.facts.get("code_keys"):
            return said  # some hold their graphs themselves
        keys = one.facts.get("fx_keys") or ()
        if len(keys) < (2 if one.facts.get("direction") else 1):
            # One that it names in a way that is not known.
            return judging.together(said, [("", judging.unknown("key"))])
        settled = self._sure is not None and (one.entry.mtime or 0) < self._sure
        unseen = None if settled else _UNSEEN
        needed = [(key, graphs.get(key, unseen)) for key in keys]
        known_by = (id(said), *(id(other) for _, other in needed))
        if known_by not in self._joined or any(other is None for _, other in needed):
            self._joined[known_by] = judging.together(said, needed)
        return self._joined[known_by]
