"""The operations that say of the entries of a place whether they will be used."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import VERDICTS, Entry
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import protocol
from torchkeeper.engine.session import Session, asks_times, environments, place_of
from torchkeeper.engine.verdicts import judged
from torchkeeper.stores import query
from torchkeeper.stores.store import Store
from torchkeeper.verdict.judging import Verdict

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts as msg
    from torchkeeper.verdict.probed import Env, VerdictTold


def check(session: Session, params: msg.CheckParams, report: Report) -> msg.CheckResult:
    """Rows: entries with ``verdict``, ``reasons`` and ``conditions``; with ``shared`` these have
    ``said`` instead, its place among what the findings ``judged`` say (see ``judge``).
    """
    asked, envs = query.parse(params.get("filter") or ""), [params["env"]]
    counts, told = _Counts(), _Told(report)
    with session.store(place_of(params["place"]), report) as store:
        for some in _judged(session, store, asked, envs, report):
            rows: list[msg.CheckRow | msg.SharedRow] = []
            for entry, said in some:
                if asked.tests and not asked.matches(entry):
                    continue
                counts[entry.verdict, entry.torch] += 1
                if params.get("shared"):
                    rows.append({**entry.to_json(), "said": told.number(said)})
                else:
                    rows.append({**entry.to_json(), **said.to_json()})
            told.send()
            report.rows(rows)
        return {**_summed(counts, envs), "owners": store.owners()}


def judge(session: Session, params: msg.JudgeParams, report: Report) -> msg.JudgeResult:
    """Findings ``judged``: ``said``, verdicts that were not sent before; ``of``, ``[kind, path,
    n]`` of at most 500 entries, n being the place of what is said of it among all that were sent,
    from 0. What has no verdict is not named. In several environments it is the best.
    """
    envs = environments(session, params["envs"], wanted=True)
    counts, told = _Counts(), _Told(report)
    with session.store(place_of(params["place"]), report) as store:
        every = _judged(session, store, query.parse(""), envs, report)
        for entry, said in itertools.chain.from_iterable(every):
            counts[said.verdict, entry.torch] += 1
            if said.verdict is not None:
                told.add(entry, said)
    told.send()
    return _summed(counts, envs)


def _judged(
    session: Session, store: Store, asked: query.Query, envs: list[Env], report: Report
) -> Iterator[list[tuple[Entry, Verdict]]]:
    """All entries of a place with what is said of each, some at a time."""
    batches = store.timed(store.entries(session, report), asks_times(store, asked))
    for found, said in judged(session.reader, store, batches, envs, report):
        yield list(zip((one.entry for one in found), said, strict=True))


#: How many entries have a verdict, and are of a version of torch.
_Counts = Counter[tuple[str | None, str | None]]


def _summed(counts: _Counts, envs: list[Env]) -> msg.JudgeResult:
    """How many there are of each verdict, and of which versions stale ones are."""
    here = {None, *(env.get("torch") for env in envs)}
    verdicts, made_by = Counter[str](), Counter[str]()
    for (verdict, torch), count in counts.items():
        verdicts[verdict or "none"] += count
        if verdict == "stale" and torch not in here:
            made_by[str(torch)] += count
    said = {name: verdicts[name] for name in (*VERDICTS, "none") if verdicts[name]}
    return {"verdicts": said, "made_by": dict(made_by.most_common(20))}


class _Told:
    """Tells verdicts, what many entries share only once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._numbers: dict[Verdict, int] = {}
        #: The same by identity, which is told sooner; the verdicts are kept with it.
        self._known: dict[int, tuple[Verdict, int]] = {}
        self._said: list[Verdict] = []
        self._of: list[tuple[str, str, int]] = []

    def number(self, said: Verdict) -> int:
        """The number of a verdict, which is sent with the next ``send`` if it is new."""
        if id(said) not in self._known:
            if said not in self._numbers:
                self._numbers[said] = len(self._numbers)
                self._said.append(said)
            self._known[id(said)] = said, self._numbers[said]
        return self._known[id(said)][1]

    def add(self, entry: Entry, said: Verdict) -> None:
        self._of.append((entry.kind, entry.path, self.number(said)))
        if len(self._of) >= protocol.MAX_ROWS:
            self.send()

    def send(self) -> None:
        self._report.check()
        if self._of or self._said:
            self._send([one.to_json() for one in self._said], self._of)
        self._said, self._of = [], []

    def _send(self, said: list[VerdictTold], of: list[tuple[str, str, int]]) -> None:
        try:
            self._report.finding(judged={"said": said, "of": of})
        except protocol.WireError:
            # Many different reasons, or long paths.
            if len(said) + len(of) < 2:
                raise
            half, middle = len(said) // 2, len(of) // 2
            for some in filter(None, (said[:half], said[half:])):
                self._send(some, [])
            for ones in filter(None, (of[:middle], of[middle:])):
                self._send([], ones)
