"""What importing bundles into a folder would come to: what is new there, and what is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from torchkeeper.artifacts.entry import KINDS, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.placing import Plan, Target, check_whole, deliver, in_order
from torchkeeper.stores.items import Item, Offered
from torchkeeper.stores.pouring import Pouring, Progress, drop
from torchkeeper.stores.preconditions import needed

#: What becomes of an entry: it is placed; it is there, the very same bytes; something else has
#: its name and is kept; it is damaged, refused, or cannot be placed.
OUTCOMES = ("new", "there", "differs", "left")

Offer = TypeVar("Offer", bound=Offered)


@dataclass
class Counts:
    """How much."""

    entries: int = 0
    files: int = 0
    bytes: int = 0

    def add(self, item: Item) -> None:
        self.entries += 1
        self.files += len(item.files)
        self.bytes += item.size


@dataclass
class Outcomes:
    """How much of each of OUTCOMES."""

    new: Counts = field(default_factory=Counts)
    there: Counts = field(default_factory=Counts)
    differs: Counts = field(default_factory=Counts)
    left: Counts = field(default_factory=Counts)

    def add(self, item: Item, outcome: str) -> None:
        counts: Counts = getattr(self, outcome)
        counts.add(item)


@dataclass
class Compared:
    """The entries of one bundle by outcome; ``needed``: bytes on the disk for the new."""

    whole: Outcomes = field(default_factory=Outcomes)
    by_kind: dict[str, Outcomes] = field(default_factory=dict)
    needed: int = 0

    @property
    def kinds(self) -> list[tuple[str, Outcomes]]:
        """Those that there are, in the order of KINDS."""
        return [(kind, self.by_kind[kind]) for kind in KINDS if kind in self.by_kind]

    def add(self, item: Item, outcome: str) -> None:
        self.whole.add(item, outcome)
        self.by_kind.setdefault(item.kind, Outcomes()).add(item, outcome)


def compare(
    bundles: Sequence[Offer],
    place: str,
    report: Report,
    mark: Callable[[Offer, Item, str, str, Problem | None], None],
) -> list[Compared]:
    """What ``import_bundles`` would do, entry by entry, by the same rules; nothing is written.

    ``mark`` hears of each entry its path in the folder, its outcome, and why it is left or
    differs. The folder need not exist.
    Raises Problem("place-not-folder" | "place-unreadable") and passes Cancelled on.
    """
    root = os.path.realpath(place)
    if os.path.lexists(root) and not os.path.isdir(root):
        raise Problem("place-not-folder", place=place)
    ordered = [in_order(bundle) for bundle in bundles]
    progress = Progress(report, sum(item.size for items in ordered for item, _ in items))
    found = []
    done = 0
    try:
        every = [item for items in ordered for item, _ in items]
        target, pouring = Target(root, every), Pouring(progress)
        for bundle, items in zip(bundles, ordered, strict=True):
            found.append(Compared())
            for item, problem in items:
                progress.begin(item)
                plan = Plan(item.path)
                try:
                    if problem is None:
                        plan = target.plan(item, bundle, pouring)
                        plan = _checked(plan, item, bundle, pouring)
                except Problem as e:
                    problem = e
                outcome = _outcome(plan, problem)
                if outcome == "new":
                    target.claim(plan)
                    found[-1].needed += needed(file.size for file, _ in plan.todo)
                found[-1].add(item, outcome)
                mark(bundle, item, plan.home, outcome, problem)
                done += item.size
                progress.reach(done)
    except OSError as e:
        raise Problem("place-unreadable", place=place, why=e.strerror or str(e)) from e
    progress.end()
    return found


def _checked(plan: Plan, item: Item, offered: Offered, pouring: Pouring) -> Plan:
    """The plan, once what it would write has proven sound. Raises Problem as ``deliver``."""
    digests = [deliver(offered, item, file, pouring, drop, plan.folder) for file, _ in plan.todo]
    check_whole(plan, item, digests)
    return plan


def _outcome(plan: Plan, problem: Problem | None) -> str:
    if problem is not None:
        return "differs" if problem.code == "key-taken" else "left"
    return "new" if plan.new else "there"
