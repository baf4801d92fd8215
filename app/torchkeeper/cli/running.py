"""Commands about runs of programs: run, runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchkeeper.cli import applying, looking, output, recording, screen
from torchkeeper.cli.asking import Asker
from torchkeeper.client import paths, temporary
from torchkeeper.client.engines import far, interpreters
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import protected, runs, whole
from torchkeeper.client.recipes import recording as program
from torchkeeper.client.words import causes, say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.settings.servers import has_graphs
from torchkeeper.stores.folders import owners
from torchkeeper.stores.places import used_by
from torchkeeper.warm import supervise
from torchkeeper.warm.traces.notes import fits, hear, notes_in, notes_of

if TYPE_CHECKING:
    from torchkeeper.client.kept.runs import ExplainedAot, ExplainedGraph
    from torchkeeper.engine.messages.compiling import FollowParams
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.verdicts import ExplainTraceResult, RunResult

_TRACE = "TORCH_TRACE"


def add_run(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--env", metavar="PYTHON", help="the interpreter that runs COMMAND, which is then “python "
        "…”, “FILE.py …” or “-m MODULE …”; by default COMMAND runs as it is")  # fmt: skip
    add("--into", metavar="PLACE", type=looking.folder, help="the cache folder the program uses; "
        "by default its own; with ssh://HOST/PATH it runs on that machine, and so it does with "
        "such a name after --env or --folder")  # fmt: skip
    add("--folder", metavar="PLACE", type=looking.far_folder, help="the folder of another machine "
        "that the program starts in; by default the home there")  # fmt: skip
    applying.add_profile(command, "the program")
    add("--report", metavar="FILE", type=looking.path, help="also write it as JSON")  # fmt: skip
    recording.add(command)
    command.add_argument("--json", action="store_true", help="after the program's own output, a "
                         "JSON object a line: each graph, and the result")  # fmt: skip
    add("argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments, "
        "after “--”; where TORCH_TRACE names a folder, the trace is kept there")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """torchkeeper run; exits as the program does, with 126 or 127 where it cannot be started."""
    command = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if not command:
        remedy = "Give it after “--”: torchkeeper run -- python train.py."
        raise output.misuse("There is no command to run.", "", remedy)
    if machine := far.machine_of(args.into, args.folder, args.env if far.is_far(args.env) else ""):
        return _there(args, machine, command)
    argv = list(command)
    if args.env:
        argv = program.under(interpreters.chosen(args.env), command)
        interpreters.starting(argv[0])
    env = applying.for_run(args, paths.users_variables())
    if args.into:
        protected.check(args.into)
        env = supervise.filling(env, args.into)
    _check_report(args)
    recording.check(args, command)
    place = used_by(env)
    own = dict(env)
    output.warn_of_owners(owners.of_program(place))
    with _trace_folder(env) as folder, temporary.folder("record") as record, Engine() as engine:
        # While the program runs: where it notes what it compiles, if somebody asked.
        notes = hear(env, record) if args.recipe else ""
        asker = Asker(engine, args.json)
        asker.ask(protocol.HELD, place=place, trace=folder)
        sys.stdout.flush()
        began, clock = time.time(), time.monotonic()
        try:
            code = program.run(argv, env)
        except UserError as error:
            return _not_run(args, error)
        seconds = time.monotonic() - clock
        try:
            found = _explained(asker, folder, env)
            _keep(command, place, code, began, seconds, found)
            about = found.graphs, found.autograd, notes_in(notes) if notes else ()
            code = _written(args, found, recording.Ran(command, own, code, place, *about))
            sys.stdout.flush()
        except UserError as error:
            output.report(args, error)
        except KeyboardInterrupt:
            if args.recipe:
                raise  # what was asked for is not done
            output.note("torchkeeper: Cancelled.")
        except OSError as e:
            # The program's own exit code is what counts, whoever still reads our output.
            if not isinstance(e, BrokenPipeError):
                output.complain(UserError("The output cannot be written.", f"{e.strerror}."))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def _check_report(args: argparse.Namespace) -> None:
    """Raises UserError where the report could not be written."""
    if args.report and not os.access(os.path.dirname(args.report), os.W_OK):
        why = "Its folder cannot be written"
        raise user_error("output-unwritable", {"file": args.report, "why": why})


def _not_run(args: argparse.Namespace, error: UserError) -> int:
    output.report(args, error)
    return program.NOT_FOUND if error.code == "command-missing" else program.CANNOT_RUN


def _written(args: argparse.Namespace, found: Found, ran: recording.Ran) -> int:
    """Write the recipe of a run, if it was asked for, and tell what the run came to; the exit
    code: what was asked for may not be there, however well the program ended.
    """
    try:
        found.recipe = recording.write(args, ran)
    finally:  # what the program came to is known, whatever becomes of its recipe
        _tell(args, found, ran.env, ran.place, ran.code)
    return ran.code or int(found.recipe is not None and found.recipe["file"] is None)


def _there(args: argparse.Namespace, machine: str, command: list[str]) -> int:
    """Run a program on another machine: what it prints comes here, what it read stays there."""
    argv = command
    if args.env:
        python = interpreters.chosen(args.env, machine)
        argv = program.under(far.path_of(machine, python), command)
    settings = applying.for_run_there(args, machine)
    if args.into:
        protected.check(args.into)
    _check_report(args)
    recording.check(args, command)
    folder = args.folder if args.folder not in (None, machine) else ""  # its home
    asked = {
        "command": argv, "folder": folder, "env": None, "place": args.into or "",
        "settings": settings, "whole": True, "notes": bool(args.recipe),
    }  # fmt: skip
    with Engine(machine) as engine:
        try:
            found, ran = _heard(Asker(engine, args.json), protocol.RUN, asked, command)
        except UserError as error:
            return _not_run(args, error)
    return _written(args, found, ran)


def follow(args: argparse.Namespace, asker: Asker, params: FollowParams) -> int:
    """Follow a program there, as the job that it is; its exit code."""
    found, ran = _heard(asker, protocol.FOLLOW, {**params}, ())
    _tell(argparse.Namespace(report=None, json=args.json), found, ran.env, ran.place, ran.code)
    return ran.code


def _heard(
    asker: Asker, op: str, asked: Mapping[str, object], command: Sequence[str]
) -> tuple[Found, recording.Ran]:
    """What a program there comes to, which is kept. command: its words, where they are known."""
    graphs: dict[object, ExplainedGraph] = {}
    noted = list[str]()

    def heard(what: Finding) -> None:
        if "log" in what:
            output.line(what["log"])
            sys.stdout.flush()
        elif "graph" in what:
            told = what["graph"]
            graphs[told["process"], told["id"], told["key"]] = {**told, "why": causes.cause(told)}
        elif "run" in what:
            graphs.clear()  # each is told anew
        elif "noted" in what and fits(noted):
            noted.append(what["noted"])

    asker.on_finding = heard
    result: RunResult = asker.ask(op, **asked)
    machine, env, code = asker.engine.machine, result["env"], result["code"]
    place = far.name_of(machine, result["place"])
    own = {"alive", "began", "code", "command", "env", "folder", "place", "seconds"}
    told: Any = {name: one for name, one in result.items() if name not in own}
    found, words = Found(told, list(graphs.values()), []), command or result["command"]
    _keep(words, place, code, result["began"], result["seconds"], found)
    notes, folder = notes_of("".join(noted)), far.path_of(machine, result["folder"])
    return found, recording.Ran(words, env, code, place, found.graphs, [], notes, machine, folder)


@dataclass
class Found:
    """What an engine told of a trace. run: its id. recipe: what came of one that was asked for."""

    result: ExplainTraceResult
    graphs: list[ExplainedGraph]
    autograd: list[ExplainedAot]
    run: str | None = None
    recipe: Mapping[str, Any] | None = None

    @property
    def totals(self) -> dict[str, object]:
        more = {"run": self.run, "recipe": self.recipe}
        return {**self.result, **{name: one for name, one in more.items() if one is not None}}


@contextlib.contextmanager
def _trace_folder(env: dict[str, str]) -> Iterator[str]:
    """The folder of the trace, which ``env`` is made to name: the user's own, or one for now."""
    if env.get(_TRACE):
        yield os.path.abspath(env[_TRACE])
        return
    with temporary.folder("trace") as folder:
        env[_TRACE] = folder
        yield folder


def explained(asker: Asker, **params: Any) -> Found:
    """What an engine says of a trace (``explain_trace``), with the causes in words."""
    result: ExplainTraceResult = asker.ask(protocol.EXPLAIN_TRACE, **params)
    found = Found(result, [], [])
    for one in asker.findings:
        if "graph" in one:
            found.graphs.append({**one["graph"], "why": causes.cause(one["graph"])})
    for one in asker.findings:
        if "aot" in one:
            why = causes.autograd(one["aot"], found.graphs)
            found.autograd.append({**one["aot"], "why": why})
    return found


def _explained(asker: Asker, folder: str, env: Mapping[str, str]) -> Found:
    if os.path.isdir(folder):
        return explained(asker, trace=folder, known=True, remote=has_graphs(env))
    # PyTorch makes the user's own when it first writes there; we do not.
    with tempfile.TemporaryDirectory(prefix="torchkeeper-trace-") as nothing:
        return explained(asker, trace=nothing, known=True)


def _keep(
    command: Sequence[str], place: str, code: int, began: float, seconds: float, found: Found
) -> None:
    if not found.graphs:
        return
    try:
        kept = runs.keep(command, place, code, began, seconds, found.result, found.graphs)
        found.run = kept.id
    except UserError as error:
        output.complain(error)


def _tell(
    args: argparse.Namespace, found: Found, env: Mapping[str, str], place: str, code: int
) -> None:
    if args.report:
        try:
            told = {"graphs": found.graphs, "aotautograd": found.autograd}
            whole.write(args.report, {**found.totals, **told})
        except OSError as e:
            about = {"file": args.report, "why": e.strerror}
            output.complain(user_error("output-unwritable", about))
    if args.json:
        _emit(found)
    else:
        output.line()
        tell(found, env, place, code)


def explain_trace(trace: str, place: str | None, as_json: bool) -> int:
    """torchkeeper explain --trace; 1 where the trace tells of no graph."""
    with Engine() as engine:
        asker = Asker(engine, as_json)
        found = explained(asker, trace=trace, **({"place": place} if place else {}))
    output.notes(output.left_lines(asker.left))
    if as_json:
        _emit(found)
    else:
        tell(found, {}, place)
        if found.result["misses"] and not place:
            output.line("To compare the misses with what a cache holds now, name the cache.")
    return int(not found.graphs)


def _emit(found: Found) -> None:
    output.emit_all(found.graphs)
    output.emit({"result": {**found.totals, "aotautograd": found.autograd}})


def tell(found: Found, env: Mapping[str, str], place: str | None, code: int = 0) -> None:
    result = found.result
    if not found.graphs:
        output.line(causes.nothing(result, env, code))
    else:
        output.lines(told(found.graphs))
        for aot in found.autograd:
            if aot["why"] and aot["why"] != causes.as_graphs():
                output.line(printable(f"AOTAutograd {aot['id']}: ") + aot["why"])
        output.line(causes.summary(result) + ".")
    if result["elsewhere"] and place:
        output.line(printable(f"The compiled graphs are not in {place}: the program names another "
                              "cache folder, so its earlier contents are not known."))  # fmt: skip
    output.lines(list(_doubts(result)))


def told(graphs: Sequence[Mapping[str, Any]]) -> list[str]:
    processes = {graph.get("process") for graph in graphs}
    lines = []
    for graph in graphs:
        process = f"{graph.get('process')}, " if len(processes) > 1 else ""
        more = ", ".join(filter(None, [causes.place(graph), causes.seconds(graph)]))
        outcome, ident = f"{graph.get('outcome', '?'):<6}", process + str(graph.get("id"))
        cells = [outcome, ident, causes.named(graph), more]
        lines.append(printable("  ".join(filter(None, cells))))
        if why := graph.get("why"):
            cause = graph.get("cause") or graph  # of a run that was kept, only the key is
            nearest = cause.get("nearest")
            said = f"nearest {str(nearest)[:12]}: {why}" if nearest else str(why)
            lines.append(printable(f"        {said}", 2000))
        if graph.get("outcome") != "hit" and (times := causes.line(graph)):
            lines.append(f"        {times}")
    return lines


def _doubts(result: ExplainTraceResult) -> Iterator[str]:
    if result["odd"]:
        yield f"{say.count(result['odd'], 'line', 'lines')} of the trace cannot be read."
    if result["cut"]:
        records = say.count(result["cut"], "record of the trace is", "records of the trace are")
        yield f"{records} not whole."
    if result["full"]:
        yield "The trace is too large; not all of it was read."
    there, read = result["there"], result["looked_at"]
    if there and read and read < there:
        yield f"Of {there:,} graphs that were there, {read:,} were compared, the newest."


#: The headings of the list.
_HEAD = ("ID", "WHEN", "HITS", "MISSES", "UNCACHEABLE", "SPENT", "SAVED", "EXIT", "COMMAND")


def add_runs(command: argparse.ArgumentParser) -> None:
    output.add_table(command, output.column_names(_HEAD), limit=True)
    command.add_argument("ident", metavar="ID", nargs="?", help="show this run again: the "
                         "beginning of its id, or “last”")  # fmt: skip
    output.flag(command, "--forget", "remove the run from the list; “all” is every run")


def kept_runs(args: argparse.Namespace) -> int:
    """torchkeeper runs."""
    if args.forget:
        every = args.ident == "all"
        return output.forgotten(
            args, "run", lambda: runs.forget(runs.every() if every else [runs.one(args.ident).id])
        )
    if args.ident:
        one = runs.one(args.ident)
        if args.json:
            output.emit(one.to_json())
        else:
            output.lines([*_head(one), "", *told(one.graphs), causes.summary(one.totals) + "."])
        return 0
    kept = runs.kept()
    if args.json:
        output.emit_all(
            {k: v for k, v in one.to_json().items() if k != "graphs"}
            for one in kept.runs[: screen.now.limit]
        )
    elif kept.runs:
        output.table(_HEAD, list(map(_row, kept.runs)), frozenset(range(2, 8)))
    totals = {name: sum(one.totals[name] for one in kept.runs) for name in runs.TOTALS}
    count = say.count(len(kept.runs), "run", "runs")
    more = f"; {say.count(kept.damaged, 'file', 'files')} damaged" if kept.damaged else ""
    said = f"{count}, {causes.summary(totals)}{more}"
    output.result(args, {"runs": len(kept.runs), "damaged": kept.damaged, "totals": totals}, said)
    return 0


def _row(one: runs.Run) -> list[str]:
    counts = [f"{int(one.totals[name]):,}" for name in ("hits", "misses", "bypasses")]
    times = [say.seconds(one.totals[name]) for name in ("spent", "saved")]
    return [one.id, say.when(one.at), *counts, *times, str(one.code), one.line]


def _head(one: runs.Run) -> list[str]:
    said = [
        ("run", one.id),
        ("command", " ".join(one.command)),
        ("machine", one.machine),
        ("when", say.when(one.at)),
        ("took", say.seconds(one.seconds)),
        ("exit", str(one.code)),
        ("torch", one.torch or "not known"),
        ("cache", one.place),
        ("graphs", one.shortened),
    ]
    return [printable(f"{name:<8} {value}") for name, value in said if value]
