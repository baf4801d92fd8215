"""Rows in groups: by kind, by verdict, by torch version, by age."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from operator import attrgetter

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.entry import KINDS, VERDICTS, counted
from torchkeeper.artifacts.vllm import Rank, rank_of
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.table.rows import Row, rank_words, verdict_words

_tr = partial(QCoreApplication.translate, "Groups")

#: By what rows can be grouped; the first is not at all.
GROUPINGS = ("none", "kind", "verdict", "torch", "age", "rank")
#: Those whose names change while the entry stays the same.
PASSING = frozenset({"age", "verdict"})
#: The groups by age, the newest first.
_AGES = ("hour", "today", "yesterday", "week", "month", "year", "older", "unknown")

Name = Hashable
_SIZE: Callable[[Row], int] = attrgetter("entry.size")
_KIND: Callable[[Row], str] = attrgetter("entry.kind")


class Weight:
    """How much some rows are: bytes, and how many of each kind."""

    __slots__ = ("bytes", "kinds")

    def __init__(self) -> None:
        self.bytes, self.kinds = 0, Counter[str]()

    def add(self, rows: Sequence[Row]) -> None:
        self.bytes += sum(map(_SIZE, rows))
        self.kinds.update(map(_KIND, rows))


class Group:
    """Some of the rows, under a heading, for which it stands in the lines of the table; without
    grouping the one group has no heading. The object stays the same for as long as its place is
    shown. name: what its rows have in common. rows: those that the filter lets through, in order.
    """

    __slots__ = ("_weight", "by", "collapsed", "name", "rows")

    def __init__(self, by: str, name: Name) -> None:
        self.by, self.name, self.collapsed = by, name, False
        self.rows: list[Row] = []
        self._weight: Weight | None = None

    @property
    def headed(self) -> bool:
        return self.by != "none"

    @property
    def size(self) -> int:
        return self._weighed.bytes

    @property
    def kinds(self) -> Counter[str]:
        """How many there are of each kind."""
        return self._weighed.kinds

    @property
    def counted(self) -> str:
        """How many entries they are, and what else, in words."""
        return say.held(counted(self.kinds))

    @property
    def _weighed(self) -> Weight:
        if self._weight is None:
            self._weight = Weight()
            self._weight.add(self.rows)
        return self._weight

    def take(self, rows: list[Row], weight: Weight | None = None) -> None:
        """Hold these rows from now on; ``weight`` where it is known."""
        self.rows, self._weight = rows, weight

    def extend(self, rows: list[Row]) -> None:
        if self._weight is not None:
            self._weight.add(rows)
        self.rows += rows

    @property
    def title(self) -> str:
        """What its rows have in common, in words."""
        if self.by == "kind":
            return say.kind_words(str(self.name))
        if self.by == "verdict":
            return _tr("Without a verdict") if self.name is None else verdict_words(str(self.name))
        if self.by == "torch":
            name = printable(str(self.name), 60)
            return _tr("Not recorded") if self.name is None else _tr("torch {}").format(name)
        if self.by == "rank":
            return rank_words(self.name) if isinstance(self.name, Rank) else _tr("Of no rank")
        return {
            "hour": _tr("Last hour"),
            "today": _tr("Today"),
            "yesterday": _tr("Yesterday"),
            "week": _tr("This week"),
            "month": _tr("This month"),
            "year": _tr("This year"),
            "older": _tr("Older"),
        }.get(str(self.name), _tr("Not recorded"))

    @property
    def numbers(self) -> str:
        """How many rows, and how large they are together."""
        return f"{self.counted} · {say.content(self.size)}"

    @property
    def spoken(self) -> str:
        """The whole heading for whoever listens."""
        kinds = (
            _tr("Kind {}"),
            _tr("Verdict {}"),
            _tr("Torch version {}"),
            _tr("Last change {}"),
            _tr("Rank {}"),
        )
        what = dict(zip(GROUPINGS[1:], kinds, strict=True))[self.by]
        title = self.title if self.name is None or self.by != "torch" else printable(str(self.name))
        state = _tr("collapsed") if self.collapsed else _tr("expanded")
        return f"{what.format(title)}, {self.counted}, {say.content(self.size)}, {state}"


def naming(by: str, now: float) -> Callable[[Row], Name]:
    """What tells the name of a row's group; ``now`` is when ages are counted from."""
    if by == "age":
        return _age_naming(now)
    if by == "rank":
        return _rank_name
    return attrgetter(f"entry.{by}") if by != "none" else lambda _: None


def _rank_name(row: Row) -> Name:
    rank = rank_of(row.entry.path)
    return rank if rank.name else None


def _age_naming(now: float) -> Callable[[Row], Name]:
    import datetime  # only here: the window should start fast

    today = datetime.datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    begins = (
        today.replace(month=1, day=1),
        today.replace(day=1),
        today - datetime.timedelta(days=today.weekday()),
        today - datetime.timedelta(days=1),
        today,
    )
    # Early in a year, a month or a week some of them begin after a shorter one does.
    cuts = [begin.timestamp() for begin in begins] + [now - 3600]
    for number in range(len(cuts) - 1, 0, -1):
        cuts[number - 1] = min(cuts[number - 1], cuts[number])
    names = _AGES[-2::-1]

    def name(row: Row) -> Name:
        mtime = row.entry.mtime
        return _AGES[-1] if mtime is None else names[bisect.bisect_right(cuts, mtime)]

    return name


def in_order(by: str, names: Iterable[Name]) -> list[Name]:
    """The names of groups as they stand: kinds as always, versions and ages newest first."""
    if by == "kind":
        return sorted(names, key=lambda name: KINDS.index(str(name)))
    if by == "verdict":
        # What there is something to do about is told from what cannot have one, which comes last.
        ranks = {name: rank for rank, name in enumerate((*VERDICTS, None))}
        return sorted(names, key=lambda name: ranks.get(_text(name), len(ranks)))
    if by == "age":
        return sorted(names, key=lambda name: _AGES.index(str(name)))
    if by == "torch":
        # Without a version they are the smallest, and so the last.
        return sorted(names, key=lambda name: say.version(_text(name)), reverse=True)
    if by == "rank":
        return sorted(names, key=_rank_order)
    return list(names)


def _rank_order(name: Name) -> tuple[bool, tuple[str, tuple[int, ...]]]:
    """What is of none comes last."""
    return (False, name.order) if isinstance(name, Rank) else (True, ("", ()))


def _text(name: Name) -> str | None:
    return name if isinstance(name, str) else None
