"""The commands about many machines at once: warm with --on, and fleet."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from torchkeeper.cli import (
    cells,
    contract,
    leaving,
    looking,
    manifests,
    output,
    publishing,
    signing,
    warming,
)
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.bundles import copied
from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words import say
from torchkeeper.client.words.outcomes import failures, held
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine.protocol import FLEET, NODES
from torchkeeper.fleet import file as fleetfile
from torchkeeper.fleet import job as jobs
from torchkeeper.fleet import retention, standing
from torchkeeper.fleet.engine import FleetEngine
from torchkeeper.fleet.job import Job
from torchkeeper.fleet.report import Told
from torchkeeper.fleet.state import State
from torchkeeper.fleet.told import at_rest, met, title
from torchkeeper.warm.recipes.recipe import BUILTIN

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.fleet import (
        CellFinding,
        FleetParams,
        FleetResult,
        NodeFinding,
        NodesResult,
    )

_ON = (
    "“local”, “ssh://host”, a group of “torchkeeper hosts”, “slurm” or “slurm:PARTITION”, or a Ray "
    "cluster as “http://HEAD:8265” or “ray://HEAD:10001”"
)


def add_warm(command: argparse.ArgumentParser) -> None:
    warming.add_warm(command)
    many = command.add_argument_group(
        "on many machines",
        "Each variant is compiled once for each kind of machine among the targets, and gathered in "
        "the\nplace, which may then also be a bundle or a redis:// server. --jobs is of each "
        "machine. The same\ncommand again goes on where it was.",
    )
    add = many.add_argument
    add("--on", metavar="TARGET", nargs="+", action="extend", default=[], help="the machines that "
        f"compile: {_ON}; with --dry-run “kubernetes:nvidia”, “kubernetes:cpu” and so on print "
        "manifests of Jobs")  # fmt: skip
    output.flag(many, "--prove", "then run each variant on another node with only what the place "
                "has, and measure; the exit status is 0 only if each finds all of it")  # fmt: skip
    output.flag(many, "--share", "hand what a machine has compiled to the others of its kind while "
                "it goes: a graph that two recipes have is compiled once")  # fmt: skip
    add("--report", metavar="FILE", type=looking.path, help="write what came of it to a page of "
        "HTML")  # fmt: skip
    signing.add_key(many, "--sign")
    manifests.add_options(many)
    add("--state", metavar="DIR", type=looking.path, help="the folder in which is kept what is "
        "done; by default one of yours for each place")  # fmt: skip


def warm(args: argparse.Namespace) -> int:
    """torchkeeper warm, on this machine alone or on many."""
    if cluster := [one for one in args.on if manifests.is_one(one)]:
        return manifests.show(args, cluster)
    if args.on:
        return _on_many(args)
    for name in ("prove", "share", "report", "key", "state", "image", "secret"):
        if getattr(args, name):
            option = "sign" if name == "key" else name
            raise output.misuse(f"--{option} needs --on.", "", f"A TARGET is {_ON}.")
    args.jobs = args.jobs or 1
    return warming.warm(args)


def _on_many(args: argparse.Namespace) -> int:
    if args.profile:
        why = "A profile is for what compiles on one machine."
        raise output.misuse("--profile is not for --on.", why, "Say it in the recipes.")
    params: FleetParams = {
        "on": args.on, "into": args.into, "python": args.env,
        "slots": args.jobs, "prove": args.prove, "share": args.share, "secrets": args.secrets,
    }  # fmt: skip
    params.update(cast("FleetParams", warming.ways(args)))
    if args.limit is not None:
        params["limit_s"] = args.limit
    if args.only:
        params["only"] = recipes.indexes(params.get("recipes"), args.only)
    params["named"] = [
        one if one == BUILTIN else os.path.abspath(one) for one in args.recipes or [BUILTIN]
    ]
    if args.state:
        params["state"] = args.state
    also = [place for place in (args.bundle, args.publish) if place]
    return _do(args, Job(params, also, args.report or "", args.key or ""))


def _do(args: argparse.Namespace, job: Job) -> int:
    """Do all of a job; what came of it is the exit status."""
    jobs.check(job)
    asked = job.params.get("recipes") or ()
    where = jobs.stranger(asked, job.params.get("on") or ())
    if args.dry_run:
        return _look(args, job)
    if not warming.trusted(args, job.params, where, "Nothing was warmed.", "Warm it"):
        return 1
    with FleetEngine() as engine:
        asker = Asker(engine, args.json)
        live = cells.Live(args.json, asker)
        try:
            with leaving.telling_secrets(args, asker):
                answer: FleetResult = asker.ask(FLEET, **job.params)
        except KeyboardInterrupt:
            _left_off(at_rest(live.cells.values()), job)
            raise
        rows: list[CellFinding] = list(asker.rows)
        output.remark(args, output.left_lines(asker.left))
    nodes = list(live.nodes.values())
    if args.json:
        cells.emit(rows, nodes)
    else:
        cells.table(rows, job.proves)
        cells.reasons(rows, job.proves)
    if answer["cut"]:
        _left_off(rows, job)
        raise engine.interrupted or KeyboardInterrupt
    standing.keep(answer["state"], nodes, asked)
    good = sum(met(row, job.proves) for row in rows)
    code = contract.partly(good, good < len(rows))
    onward = _after(args, job, answer, rows, nodes) if code == contract.DONE else _Onward()
    if code != contract.DONE and (job.also or job.sign or job.after is not None):
        word = "proven" if job.proves else "warm"
        output.note(f"Nothing was signed, copied or removed, because not every cell is {word}.")
    told = Told(rows, nodes, answer, job.proves, time.time(), onward.signer, onward.copied)
    if job.report:
        jobs.write(job.report, told)
        output.remark(args, [f"The report is {printable(job.report)}."])
    output.result(args, {**answer, **_told(onward, job.report)}, _said(told))
    return contract.PARTLY if onward.failed else code


def _left_off(rows: Sequence[CellFinding], job: Job) -> None:
    """Say how far a fleet has come that a signal ends."""
    if rows:
        with contextlib.suppress(OSError):  # the terminal may be gone
            output.note(f"{title(rows, job.proves)}. What is done stays done: the same command "
                        "again goes on from there.")  # fmt: skip


def _said(told: Told) -> str:
    answer = told.result
    now = f"{answer['compiled']:,} compiled now" if answer["compiled"] else "nothing to compile"
    there = f", {answer['there']:,} there before" if answer["there"] else ""
    others = answer["shared"]
    found = f", {say.count(others, 'graph', 'graphs')} from other nodes" if others else ""
    took, place = say.seconds(answer["seconds"]), printable(answer["into"])
    return f"{title(told.rows, told.prove)} in {place}: {now}{found}{there}; {took}."


def _look(args: argparse.Namespace, job: Job) -> int:
    """List the cells that there would be, and which of them are there; 1 where one cannot be."""
    answer, rows, nodes = _looked(args, job)
    if args.json:
        cells.emit(rows, nodes)
    else:
        cells.table(rows, job.proves)
        cells.reasons(rows, job.proves)
    impossible = answer["states"].get("impossible", 0)
    said = f"{say.count(answer['cells'], 'cell', 'cells')}, {answer['there']:,} of them there"
    if impossible:
        said += f"; {impossible:,} not possible"
    output.result(args, {**answer, **_told(_Onward(), "")}, f"{said}.")
    return contract.NO if impossible else contract.DONE


def _looked(
    args: argparse.Namespace, job: Job
) -> tuple[FleetResult, list[CellFinding], list[NodeFinding]]:
    """What a fleet would do; nothing is compiled."""
    with FleetEngine() as engine:
        asker = Asker(engine, args.json)
        live = cells.Live(args.json, asker)
        answer: FleetResult = asker.ask(FLEET, **{**job.params, "dry": True})
        return answer, list(asker.rows), list(live.nodes.values())


@dataclass
class _Onward:
    """What came of the place after that. failed: whether anything of it did."""

    signer: str = ""
    copied: list[str] = field(default_factory=list)
    pruned: Mapping[str, int] | None = None
    failed: bool = False


def _told(onward: _Onward, report: str) -> dict[str, object]:
    """What the JSON of a result says besides."""
    return {"signed": onward.signer or None, "copied": onward.copied, "pruned": onward.pruned,
            "report": report or None}  # fmt: skip


def _after(
    args: argparse.Namespace, job: Job, answer: FleetResult, rows: Sequence[CellFinding],
    nodes: Sequence[NodeFinding],
) -> _Onward:  # fmt: skip
    """Sign the place, copy it, and have go what is not asked for any more. What fails is said, and
    the rest is done all the same.
    """
    done, cells_asked = _Onward(), {row["cell"] for row in rows}

    def sign() -> None:
        if job.sign:
            with Engine() as engine:
                done.signer = _signed(Asker(engine, args.json), job, bool(answer["entries"]))

    def copy(to: str) -> None:
        about = {"source": job.into, "target": to, "filter": "", "alone": False, "direct": False,
                 "dry_run": False, "replace": True, "trust": True, "usable": None,
                 "secrets": job.params.get("secrets"), "env": job.params.get("python")}  # fmt: skip
        kept = publishing.Kept(job.into, to, answer["state"], cells_asked)
        if not kept.looks(args.json):
            done.copied.append(to)
            output.remark(args, [f"{printable(to)} has all of it already."])
            return
        told, asker = copied(argparse.Namespace(**{**vars(args), **about, "held": kept.rows}))
        output.remark(args, output.left_lines(asker.left))
        if failures(asker.left):
            raise user_error("fleet-copied-partly", {"place": to})
        kept.keep()
        done.copied.append(to)
        if told["entries"]:
            output.remark(args, [f"{held(told)} copied to {printable(to)}."])

    def prune() -> None:
        if job.after is None:
            return
        if any(one["state"] != "ready" for one in nodes):
            output.note("Nothing was removed, because not every node is there.")
            return
        state = State(answer["state"])
        with state.held(), Engine(far.machine_of(job.into) or None) as engine:
            gone = retention.outdated(state, cells_asked)
            asker = Asker(engine, args.json)
            done.pruned, went = retention.prune(job.into, gone, job.after, publishing.asks(asker))
            if went:
                state.pruned(went)
        if done.pruned["entries"]:
            what = say.count(done.pruned["entries"], "entry", "entries")
            output.remark(args, [f"{what} that no cell asks for moved to the trash."])

    steps: list[Callable[[], None]] = [sign, *(functools.partial(copy, to) for to in job.also)]
    for step in (*steps, prune):
        try:
            step()
        except UserError as error:
            output.complain(error)
            done.failed = True
    return done


def _signed(asker: Asker, job: Job, changed: bool) -> str:
    """The fingerprint of the key that has signed the bundle; one that it has signed, and that did
    not change since, is not signed again.
    """
    before = signing.signature_of(asker, job.into)
    if changed or before["status"] not in ("trusted", "unknown"):
        before = signing.signed(asker, job.into, job.sign)
    return str(before["fingerprint"] or "")


_HELP = """\
examples:
  torchkeeper fleet new fleet.toml       an example with comments, to change
  torchkeeper fleet run fleet.toml       compile what has changed, prove it, publish it
  torchkeeper fleet status fleet.toml    whether the next start hits, on each machine
  torchkeeper fleet nodes ssh://gpu1 training

  crontab: every night
      0 3 * * *  torchkeeper fleet run /srv/fleet.toml --quiet

A fleet file says which recipes are to be warm for which machines, and where. A run compiles only
what has changed since the last one. Its exit status is 0 only if every cell is what the file asks
for, 4 if some are, 1 if none is."""


def add_fleet(command: argparse.ArgumentParser) -> None:
    output.describe(
        command,
        "Keep a cache warm for many machines, as a file says, which CI or a timer runs.\n"
        "A cell is a variant of a recipe for one kind of machine.",
        _HELP,
    )
    part = functools.partial(output.add_part, command.add_subparsers(metavar="WHAT", required=True))
    run = part("run", _run, "compile what has changed, prove it, and take it where it goes")
    output.flag(run, "--dry-run", "only list the cells, and which of them are there")
    output.flag(run, "--trust", "do not ask: you trust the machine that a recipe was recorded on")
    status = part("status", _status, "tell for each machine whether the next start hits, and what "
                  "has changed there; compiles nothing")  # fmt: skip
    new = part("new", _new, "write an example with comments")
    output.flag(new, "--force", "replace an existing file")
    for one in (run, status, new):
        one.add_argument("file", metavar="FILE", type=looking.path, help="a fleet file, in TOML")
    some = part("nodes", _nodes, "list the nodes of targets, with their devices and torch")
    some.add_argument("on", metavar="TARGET", nargs="+", help=_ON)
    some.add_argument("--env", metavar="PYTHON", help="the interpreter that is asked on each")
    for one in (run, status, new, some):
        output.add_json(one)


def _run(args: argparse.Namespace) -> int:
    return _do(args, fleetfile.read(args.file))


def _status(args: argparse.Namespace) -> int:
    job = fleetfile.read(args.file)
    answer, rows, some = _looked(args, job)
    found = standing.standing(rows, some, answer["state"], job.params.get("recipes") or ())
    if args.json:
        output.emit_all(found)
    else:
        head = ["NODE", "NEXT START", "CELLS", "PROVEN", "WARM", "CHANGED"]
        lines = [
            [one["node"], _next(one), *(f"{one[name]:,}" for name in standing.COUNTS),
             ", ".join(one["changed"]) or "-"]
            for one in found
        ]  # fmt: skip
        output.table(head, lines, frozenset({2, 3, 4}))
        cells.reasons([row for row in rows if row["state"] == "impossible"], job.proves)
    hits = sum(one["hits"] for one in found)
    said = f"The next start hits on {hits:,} of {say.count(len(found), 'node', 'nodes')}."
    output.result(args, {"nodes": len(found), "hits": hits, "into": job.into}, said)
    misses = any(one["cells"] > one["proven"] + one["warm"] for one in found)
    if misses and not args.json:
        name = printable(shlex.quote(args.file), 4096)
        output.note(f"“torchkeeper fleet run {name}” compiles what misses.")
    return contract.partly(hits, hits < len(found))


def _next(one: standing.Standing) -> str:
    if one["why"]:
        return "unknown"
    return "hits" if one["hits"] else f"misses {one['cells'] - one['proven'] - one['warm']:,}"


def _new(args: argparse.Namespace) -> int:
    fleetfile.write(args.file, args.force)
    said = f"{printable(args.file)} written. Change it, then: torchkeeper fleet run"
    name = os.path.relpath(args.file)
    name = args.file if name.startswith("..") else name
    output.result(args, {"written": args.file}, f"{said} {printable(shlex.quote(name))}")
    return 0


def _nodes(args: argparse.Namespace) -> int:
    with FleetEngine() as engine:
        asker = Asker(engine, args.json)
        found: list[NodeFinding] = []

        def hear(what: Finding) -> None:
            if "node" in what:
                found.append(what["node"])

        asker.on_finding = hear
        answer: NodesResult = asker.ask(NODES, on=args.on, python=args.env)
    if args.json:
        output.emit_all({"node": one} for one in found)
    else:
        cells.nodes(found)
    ready = answer["ready"]
    said = f"{ready:,} of {say.count(answer['nodes'], 'node', 'nodes')} can be used."
    output.result(args, answer, said)
    return contract.partly(ready, ready < answer["nodes"])
