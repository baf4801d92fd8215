"""What is dead on the command line: the flags of purge, its plan with reasons, and --suggest."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts.entry import COUNTS, Problem, entry_from_json, measured, tally
from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import asking
from torchkeeper.client.engines import interpreters
from torchkeeper.client.engines.everywhere import Everywhere, everywhere
from torchkeeper.client.engines.knowing import asks_verdicts, know
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import dead, say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.stores import query
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import dead as msg
    from torchkeeper.engine.messages.selecting import Select

_FLAGS = ("stale", "broken", "orphans", "older", "keep")
_HELP = (
    "Of several, what any of them says goes; with --filter only what matches as well. What others "
    "need counts as used with them and never goes before them; code that only what goes has named "
    "goes along. What is not recognised stays."
)


def measure(parse: Callable[[str], float]) -> Callable[[str], float]:
    """The type of an argument that is a number with a unit."""

    def measured(text: str) -> float:
        try:
            return parse(text)
        except Problem as problem:
            error = user_error(problem.code, problem.params)
            raise argparse.ArgumentTypeError(f"{error.what} {error.why} {error.remedy}") from None

    return measured


def add_flags(command: argparse.ArgumentParser) -> None:
    flags = command.add_argument_group("what is dead", _HELP)
    output.flag(flags, "--stale", "what none of the known environments can use; with --env only "
                "these count")  # fmt: skip
    output.flag(flags, "--broken", "what cannot be read, or lacks what it needs")
    output.flag(flags, "--orphans", "what nothing needs")
    flags.add_argument("--older", metavar="AGE", type=measure(query.seconds_in), help="what was "
                       "not used for so long: 30d, 12h; days without a unit")  # fmt: skip
    flags.add_argument("--keep", metavar="SIZE", type=measure(query.bytes_in),
                       help="what was used longest ago, until all the rest takes so much at most: "
                       "10G, 500M; counts what the other flags leave")  # fmt: skip
    output.flag(flags, "--suggest", "only say how much each of these would free; --older and "
                f"--keep say when and how much, by default {dead.DAYS}d")  # fmt: skip


class Chosen(NamedTuple):
    """What is selected as dead, and the environments that count; False for nothing."""

    select: Select
    envs: Everywhere

    def __bool__(self) -> bool:
        # “--keep 0” is one, too.
        some = {self.select.get("older"), self.select.get("keep")} != {None}
        return some or any(map(self.select.get, ("stale", "broken", "orphans")))

    def note(self, args: argparse.Namespace, plan: msg.PlanPurgeResult) -> None:
        """Say on standard error what a plan rests on, and how much goes for which reason."""
        if args.stale:
            output.note(f"environments: {dead.environments(self.envs)}")
            if scheme_of(args.place).shared:
                output.note(dead.SHARED)
        timed = args.older is not None or args.keep is not None
        if timed and (text := dead.rests(plan.get("rests"))):
            output.note(text)
        output.notes(f"goes: {text}" for text in dead.totals(plan))


def chosen(args: argparse.Namespace, engine: Engine) -> Chosen:
    """What the flags ask for. Raises UserError where nobody can say what is stale everywhere."""
    select: Select = {"stale": args.stale, "broken": args.broken, "orphans": args.orphans,
                      "older": args.older, "keep": args.keep}  # fmt: skip
    if args.stale:
        found = known_everywhere(engine, args.env)
        select["envs"] = [python for python, _ in found.envs]
        return Chosen(select, found)
    wanted = bool(args.env) or asks_verdicts(args.filter or "")
    pythons = [interpreters.chosen(python) for python in args.env or [None]] if wanted else []
    envs = know(engine, pythons)
    if args.broken and not envs and scheme_of(args.place).has_trash:
        # Only verdicts tell what lacks what it needs; what cannot be read tells itself. What a
        # server lacks, a folder may have, and what goes there is gone for good.
        with contextlib.suppress(UserError):
            envs = know(engine, [interpreters.chosen(None)])
    select["envs"] = envs
    return Chosen(select, Everywhere([], []))


def known_everywhere(engine: Engine, pythons: list[str]) -> Everywhere:
    """The environments in all of which stale is stale, as the engine is told of them. Raises
    UserError where nothing can be called stale.
    """
    found = everywhere(pythons)
    if (refusal := found.refusal()) is not None:
        raise refusal
    know_all(engine, found)
    return found


def know_all(engine: Engine, found: Everywhere) -> None:
    for python, facts in found.envs:
        engine.call(protocol.KNOW, {"python": python, "env": facts})


class Plan:
    """Prints what goes in the order of ls, with the reason of each."""

    def __init__(self, json: bool) -> None:
        self._json = json
        self._rows: list[tuple[tuple[Any, str], msg.PlanPurgeRow]] = []

    def take(self, rows: list[msg.PlanPurgeRow]) -> None:
        for row in rows:
            fields = entry_from_json(row).to_json()
            order = looking.SORTS["kind"](fields), fields["path"]
            why, used = row["because"], row["last_used"]
            self._rows.append((order, {**fields, "because": why, "last_used": used}))

    def end(self) -> None:
        rows = [row for _, row in sorted(self._rows, key=lambda one: one[0])]
        if self._json:
            output.lines([output.json_line(row) for row in rows])
        elif rows:
            head = ["KIND", "KEY", "CONTENT", "USED", "TORCH", "WHY", "NAME"]
            output.table(head, [self._cells(row) for row in rows], frozenset({2}))

    def _cells(self, row: msg.PlanPurgeRow) -> list[str]:
        used = "-" if row["last_used"] is None else say.ago(row["last_used"])
        cells = [row["kind"], row["key"][:12], say.size(row["size"]), used, row["torch"] or "-"]
        return [*cells, dead.because(row), row["name"] or "-"]


def suggest(args: argparse.Namespace) -> int:
    """torchkeeper purge --suggest: how much is dead, and why; nothing is removed."""
    found = everywhere(args.env)
    refusal = found.refusal()
    if refusal is not None and asks_verdicts(args.filter or ""):
        raise refusal
    older = dead.DAYS * dead.DAY if args.older is None else args.older
    with asking(args) as asker:
        envs = [] if refusal else [python for python, _ in found.envs]
        know_all(asker.engine, found)
        answer: msg.SuggestResult = asker.ask(
            protocol.SUGGEST, place=args.place, envs=envs, older=older, keep=args.keep,
            filter=args.filter or "",
        )  # fmt: skip
    reasons = answer["reasons"]
    if refusal is not None:
        none: msg.Reason = {
            **tally(()), "files": 0, **measured(0, on_disk=scheme_of(args.place).on_disk),
            "why": {"code": refusal.code, "params": refusal.params},
        }  # fmt: skip
        reasons = {"stale": none, **reasons}
    counted = [{"interpreter": python, "torch": facts.get("torch")} for python, facts in found.envs]
    if args.json:
        output.emit_all({"reason": code, **one} for code, one in reasons.items())
    else:
        _print(reasons, How(older, args.keep), answer)
        shared = scheme_of(args.place).shared
        asked = [f"environments: {dead.environments(found)}"] if found.envs else []
        asked += [printable(f"not asked: {python}: {error.what}") for python, error in found.failed]
        asked += [dead.SHARED] if shared and found.envs else []
        output.remark(args, [*asked, dead.rests(answer["rests"])])
    total = {name: value for name, value in answer.items() if name not in ("look", "reasons")}
    held = say.held_of(answer)
    some = any(one[name] for one in reasons.values() for name in COUNTS)
    said = f"Of {held}." if some else f"Nothing of {held} is dead."
    output.result(args, {**total, "environments": counted}, said)
    return int(asker.unreadable)


def _print(reasons: dict[str, msg.Reason], how: How, answer: msg.SuggestResult) -> None:
    cells, unknown = [], list[UserError]()
    for code, one in reasons.items():
        size = say.size(one["bytes"])
        numbers = [f"{one['entries']:,}", say.apart(one) or "-", f"{one['files']:,}", size]
        if (why := one["why"]) is not None:
            unknown.append(user_error(why["code"], why["params"]))
            numbers = ["?", "-", "?", "?"]
        cells.append([how.name(code), *numbers, f"purge {' '.join(how.flags[code])}"])
    what = "ON DISK" if "disk_bytes" in answer else "CONTENT"
    head = ["DEAD", "ENTRIES", "BESIDE", "FILES", what, "REMOVED BY"]
    output.table(head, cells, frozenset({1, 3, 4}))
    known = [one for one in reasons.values() if not one["why"]]
    if text := dead.together(known, answer["together"]):
        output.line(text)
    output.notes(dict.fromkeys(map(str, unknown)))


class How:
    """What each reason is called, and the command that removes what there is for it."""

    def __init__(self, older: float, keep: int | None, env: str | None = None) -> None:
        there, old, room = ["--env", env] if env else [], _age(older), _short(keep)
        self.flags = {
            "stale": ["--stale", *there], "broken": ["--broken", *there], "orphan": ["--orphans"],
            "unused": ["--older", old], "budget": ["--keep", room],
        }  # fmt: skip
        self._names = {
            "unused": f"unused for {old}",
            "budget": f"over {room}",
            "trash": "in the trash",
            "stale": "stale there" if env else "",
        }

    def name(self, reason: str) -> str:
        return self._names.get(reason) or dead.reason(reason)

    def command(self, reason: str, place: str) -> str:
        words = ["purge", place, *self.flags.get(reason, ())]
        if reason == "trash":
            words = ["trash", place, "--empty"]
        return shlex.join(["torchkeeper", *words])


def _age(seconds: float) -> str:
    days = seconds / dead.DAY
    return f"{days:g}d" if days >= 1 else f"{seconds:g}s"


def _short(size: int | None) -> str:
    if not size:
        return "0"
    units = (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3))
    return next((f"{size // n}{unit}" for unit, n in units if size % n == 0), str(size))
