"""What a warm-up says of its variants, while it goes on and at the end; and the command prepare."""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypedDict

from torchkeeper.cli import looking, output, screen
from torchkeeper.cli.asking import Asker, asking, python_for, say_finding
from torchkeeper.cli.commands import DEFAULT_ENV
from torchkeeper.client.words import causes, found, outcomes, preparing, say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine.protocol import PREPARE

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import PrepareParams, PrepareResult, WarmResult
    from torchkeeper.engine.messages.findings import Finding, VariantFinding
    from torchkeeper.verdict.probed import GraphTold


#: What PLACE is, and why.
_INTO = (
    "the temporary folder (TMPDIR) of the programs that will run; by default that of this "
    "environment. PyTorch looks in <temporary folder>/torchinductor_<user> for headers, whatever "
    "TORCHINDUCTOR_CACHE_DIR says, so no other folder works. For another user's programs, name the "
    "folder torchinductor_<user> itself"
)


def add_prepare(command: argparse.ArgumentParser) -> None:
    command.description = f"Prepare an environment for CPU programs. {preparing.WHY}"
    command.add_argument("--env", metavar="PYTHON", help="the interpreter that will run the "
                         f"programs; {DEFAULT_ENV}")  # fmt: skip
    command.add_argument("--into", metavar="PLACE", type=looking.folder, help=_INTO)


def prepare(args: argparse.Namespace) -> int:
    params: PrepareParams = {"into": args.into} if args.into else {}
    with asking(args, python_for(args.env, args.into)) as asker:
        if not args.json:
            asker.on_finding = saying()
        answer: PrepareResult = asker.ask(PREPARE, **params)
    told = {**answer, "left": asker.left}
    output.result(args, told, outcomes.line(outcomes.Ended(PREPARE, answer)))
    output.remark(args, [preparing.finds(answer), preparing.warning(answer)])
    return 0


def saying() -> Callable[[Finding], None]:
    """``say_finding`` for one job: each graph is said once, when it is known how it ended."""
    said: set[tuple[object, object]] = set()

    def say_once(what: Finding) -> None:
        if "graph" in what:
            graph = what["graph"]
            which = graph.get("variant"), graph["id"]
            if graph["outcome"] == "compiling" or which in said:
                return
            said.add(which)
        say_finding(what)

    return say_once


class Uncached(TypedDict):
    """A graph that PyTorch does not cache, and why, where it says so."""

    id: str
    name: str
    reason: str | None


#: Lines of its log that are shown of a variant that failed, and variants of which they are.
_TAIL, _SHOWN = 12, 20
#: Problems that a log has nothing to add to.
_SAYS_ALL = frozenset({
    "module-missing", "name-missing", "not-callable", "device-missing", "exported-unreadable",
    "script-missing", "script-folder", "command-missing", "input-type", "kernel-target",
    "triton-missing", "compiler-missing", "arguments-wrong", "place-blank",
})  # fmt: skip
#: Columns of a table of variants that are numbers.
_NUMBERS = ("GRAPHS", "HITS", "MISSES", "SECONDS")


def tell(live: Live, rows: Sequence[VariantFinding], failed: Sequence[VariantFinding]) -> None:
    """The table of variants where there are several, and of those that failed what, why, remedy."""
    if len(rows) > 1:
        several = len({row.get("recipe") for row in rows}) > 1
        head = [*(["RECIPE"] if several else []), "VARIANT", "STATE", *_NUMBERS, "DEVICE"]
        table = [[*([str(row.get("recipe"))] if several else []), *_variants(row)] for row in rows]
        output.table(head, table, frozenset(map(head.index, _NUMBERS)))
    failed = [row for row in failed if row.get("problem")]  # not those that were cancelled
    bypassed = [row for row in rows if row["state"] == "done" and row.get("bypasses")]
    for row in bypassed[:_SHOWN]:
        said = causes.uncached(row["bypasses"])
        output.note(printable(f"{row.get('recipe')}: {row.get('name')}: {said}."))
        _say_uncached(live.uncached.get(row["index"], ()))
    most = len(failed) if screen.now.verbose else _SHOWN
    for row in failed[:most]:
        output.warn(printable(f"{row.get('recipe')}: {row.get('name')}"))
        output.complain(error := error_of(row))
        _say_uncached(live.uncached.get(row["index"], ()))
        if error.code not in _SAYS_ALL:
            say_log(row.get("log") or [])
    if len(failed) > most:
        output.warn(f"and {len(failed) - most:,} more that failed; --verbose has them all")


def error_of(row: VariantFinding) -> UserError:
    problem = row.get("problem")
    assert problem
    return user_error(problem["code"], problem["params"])


def _say_uncached(graphs: Sequence[Uncached]) -> None:
    for graph in graphs:
        output.note(printable(f"  {graph['id']}  {graph['name']}: {causes.bypassed(graph)}"))


def say_log(log: Sequence[str]) -> None:
    if log:
        output.note("  the end of its log:")
    for text in log if screen.now.verbose else log[-_TAIL:]:
        output.note(f"    {printable(text)}")


def _variants(row: VariantFinding) -> list[str]:
    seconds = row.get("seconds")
    took = say.seconds(seconds) if isinstance(seconds, (int, float)) else "-"
    # Of a kernel or an operator there are no graphs.
    graphs = None if row.get("source") in say.THINGS else row.get("graphs")
    counts = [graphs, row.get("hits"), row.get("misses")]
    cells = ["-" if count is None else f"{count:,}" for count in counts]
    return [str(row.get("name")), row["state"], *cells, took, row.get("device") or "-"]


class Live:
    """Says on standard error what a compile job does: each variant that ended, or each step and
    graph of a single one; as JSON, each variant on standard output. rows: by index, as last told;
    uncached: the graphs of each that PyTorch does not cache.
    """

    def __init__(self, json: bool, asker: Asker) -> None:
        self._json = json
        self._asker = asker
        self._say = saying()
        self.rows: dict[int, VariantFinding] = {}
        self.uncached: dict[int, list[Uncached]] = {}
        self._log: deque[str] = deque(maxlen=None if screen.now.verbose else _TAIL)
        #: What each variant that is being compiled is at, by its index.
        self._at: dict[int, str] = {}
        asker.on_finding, asker.aside = self, self.now

    def __call__(self, what: Finding) -> None:
        if "variants" in what:
            self.rows |= {one["index"]: one for one in what["variants"]}
        elif "log" in what:
            self._log.append(what["log"])
        elif "graph" in what:
            self._graph(what["graph"], what)
        elif isinstance(variant := what.get("variant"), dict):
            self._ended(variant)
        elif "jobs" in what:
            if not self._json:
                self._asker.say(found.noted(what))
        elif not self._json and not ("step" in what and len(self.rows) > 1):
            self._asker.clear()
            self._say(what)

    def now(self) -> str:
        """What is going on: the first of the variants that are being compiled, and its phase."""
        for index, phase in self._at.items():
            row = self.rows[index]
            about = f"{row.get('recipe')}: {row.get('name')}{phase and f', {phase}'}"
            more = f" and {len(self._at) - 1} more" if len(self._at) > 1 else ""
            return printable(about + more)
        return ""

    def _graph(self, graph: GraphTold, what: Finding) -> None:
        index = graph.get("variant")
        if graph["outcome"] == "bypass" and index in self.rows:
            kept = self.uncached.setdefault(index, [])
            if all(one["id"] != graph["id"] for one in kept) and len(kept) < _SHOWN:
                reason = graph.get("reason")
                kept.append({"id": graph["id"], "name": graph["name"], "reason": reason})
        if graph["outcome"] == "compiling":
            phases = [name for name, _ in graph["phases"] if name != "other"]
            if index in self._at and phases:
                self._at[index] = phases[-1]
        elif len(self.rows) < 2 and not self._json:
            self._say(what)

    def _ended(self, variant: VariantFinding) -> None:
        before = self.rows.get(variant["index"])
        begun = before is not None and before["state"] == "compiling"
        row: VariantFinding = {**before, **variant} if before else variant
        self.rows[variant["index"]] = row
        if row["state"] == "compiling" and len(self.rows) > 1:
            self._at[variant["index"]] = ""
        else:
            self._at.pop(variant["index"], None)
        if row["state"] not in ("done", "failed", "cancelled"):
            return
        if self._json:
            self._emit(row)
            return
        if len(self.rows) < 2 or (row["state"] == "cancelled" and not begun):
            return
        seconds = row.get("seconds")
        took = f"  {say.seconds(seconds)}" if isinstance(seconds, (int, float)) else ""
        if row["state"] == "done":
            hits, misses = row["hits"], row["misses"]
            about = say.lookups(hits, misses)
            if bypasses := row.get("bypasses"):
                about += f", {bypasses:,} not cacheable"
        else:
            about = error_of(row).what if row["state"] == "failed" else ""
        said = f"{row['state']:<7} {row.get('recipe')}: {row.get('name')}  {about}{took}"
        self._asker.say(printable(said.rstrip()))

    def _emit(self, variant: VariantFinding) -> None:
        uncached = self.uncached.get(variant["index"])
        output.emit({"variant": {**variant, **({"uncached": uncached} if uncached else {})}})
        sys.stdout.flush()  # whoever reads it wants to know now

    def rows_of(self, answer: WarmResult) -> list[VariantFinding]:
        """All variants in their order, as the result has them or as they were told."""
        told = {one["index"]: one for one in answer["variants"]}
        rows = sorted(self.rows.items())
        return [{**row, **told[index]} if index in told else row for index, row in rows]

    def say_tail(self) -> None:
        """The end of the log of a job that failed as a whole."""
        if not self._json:
            say_log(list(self._log))
