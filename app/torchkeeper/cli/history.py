"""The command jobs: what the window is at and has done, and what came of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchkeeper.cli import contract, output, screen
from torchkeeper.cli.asking import Asker, asking, say_finding
from torchkeeper.client.engines import far
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past, Running
from torchkeeper.client.words import outcomes, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import traits

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import FollowParams

#: The headings of the list.
_HEAD = ("ID", "WHEN", "TOOK", "HOW", "JOB", "RESULT")


def add_jobs(command: argparse.ArgumentParser) -> None:
    output.add_table(command, output.column_names(_HEAD), limit=True)
    command.add_argument("ident", metavar="ID", nargs="?", help="show this job, with its log if it "
                         "has ended: the beginning of its id, or “last”; or list the jobs of a "
                         "machine that go on without a connection: ssh://host")  # fmt: skip
    output.flag(command, "--forget", "remove the job from the history; “all” is every job")
    command.add_argument("--follow", metavar="ID", help="of the jobs of a machine: tell what this "
                         "one has done, and does; Ctrl-C ends it")  # fmt: skip
    command.add_argument("--end", metavar="ID", help="the same: end this one")


def jobs(args: argparse.Namespace) -> int:
    """torchkeeper jobs."""
    if machine := far.machine_of(args.ident):
        with asking(args, machine) as asker:
            asker.ask(protocol.JOBS)
            there = sorted(far.jobs(machine, asker.rows), key=lambda job: -(job.began or 0.0))
            if wanted := args.follow or args.end:
                return _follow(args, asker, history.chosen(there, wanted))
        return _list(args, [], history.Kept(there, 0))
    if args.follow or args.end:
        raise output.misuse("Name the machine, too, such as ssh://gpu1.")
    if args.forget:
        every = args.ident == "all"
        return output.forgotten(
            args, "job", lambda: history.forget(None if every else [history.one(args.ident).id])
        )
    # First: what was cut off is in the history then.
    now = history.found()
    if args.ident:
        mine = [job for job in now if job.id.startswith(args.ident)]
        one = mine[0] if len(mine) == 1 else history.one(args.ident)
        if args.json:
            output.emit(one.to_json())
        else:
            output.lines(_whole(one) if isinstance(one, Past) else _so_far(one))
        return 0
    return _list(args, now, history.kept())


def _list(args: argparse.Namespace, now: Sequence[Running], kept: history.Kept) -> int:
    if args.json:
        past = ({k: v for k, v in one.to_json().items() if k != "log"} for one in kept.jobs)
        output.emit_all([*(job.to_json() for job in now), *past][: screen.now.limit])
    elif kept.jobs or now:
        output.table(_HEAD, [*map(_running_row, now), *map(_row, kept.jobs)], frozenset({2}))
    lines = say.count(kept.damaged, "line", "lines")
    more = f"; {lines} could not be understood" if kept.damaged else ""
    running = len(now) + sum(one.state == "running" for one in kept.jobs)
    ended = len(now) + len(kept.jobs) - running
    running_now = f"{say.count(running, 'job has', 'jobs have')} not ended; " if running else ""
    said = f"{running_now}{say.count(ended, 'job', 'jobs')} kept{more}."
    told = {"jobs": ended, "running": running, "damaged": kept.damaged}
    output.result(args, told, said)
    return 0


def _follow(args: argparse.Namespace, asker: Asker, one: Past) -> int:
    from torchkeeper.cli import warming  # only here: it takes long to load

    params: FollowParams = {
        "job": one.id, "op": one.kind, "place": one.place, "end": bool(args.end)
    }  # fmt: skip
    try:
        if one.kind == protocol.RUN:
            from torchkeeper.cli import running

            return running.follow(args, asker, params)
        if traits(one.kind).warms:
            ended, _ = warming.heard(args, asker, one.place, protocol.FOLLOW, {**params})
        else:
            asker.on_finding = say_finding
            answer = asker.ask(protocol.FOLLOW, **params)
            ended = outcomes.Ended(one.kind, answer, one.place, left=asker.left)
    except UserError as error:
        if not args.end or error.code != "cancelled":
            raise
        output.result(args, {"job": one.id, "ended": True}, "The job is ended.")
        return 0
    output.result(args, {**ended.result, "left": asker.left}, outcomes.line(ended))
    return contract.number(outcomes.went(ended))


def _running_row(one: Running) -> list[str]:
    took = "" if one.began is None else say.seconds(round(time.time() - one.began, 1))
    return [one.id, say.when(one.began or time.time()), took, one.state, one.title, one.words]


def _so_far(one: Running) -> list[str]:
    began = "" if one.began is None else say.when(one.began)
    said = [
        ("job", one.id),
        ("what", one.title),
        ("place", one.place),
        ("began", began),
        ("state", f"{one.state}: {one.words}"),
        ("process", f"{one.process}" if one.window else
         f"{one.process}, without a window: start Torchkeeper to see it again"),
    ]  # fmt: skip
    return _labelled(said)


def _row(one: Past) -> list[str]:
    took = "" if one.seconds is None else say.seconds(one.seconds)
    return [one.id, say.when(one.ended), took, _state(one), one.title, one.words]


def _state(one: Past) -> str:
    return "goes on" if one.goes_on else one.state


def _whole(one: Past) -> list[str]:
    said = [
        ("job", one.id),
        ("what", one.title),
        ("left" if one.goes_on else "ended", f"{say.when(one.ended)}, {_state(one)}"),
        ("took", "" if one.seconds is None else say.seconds(one.seconds)),
        *((name.lower(), text) for name, text in one.asked),
    ]
    told = [printable(text, 4096) for text in (*one.told, *(one.error or ())) if text]
    log = [printable(line, 4096) for line in one.log]
    return [*_labelled(said), *([""] if told else []), *told, *([""] if log else []), *log]


def _labelled(said: list[tuple[str, str]]) -> list[str]:
    wide = max(len(name) for name, _ in said)
    return [printable(f"{name:<{wide}}  {value}", 4096) for name, value in said if value]
