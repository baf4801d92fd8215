"""The command jobs: what the window is at and has done, and what came of it."""

from __future__ import annotations

import argparse
import time

from torchkeeper.cli import output, screen
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past, Running
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable

#: The headings of the list.
_HEAD = ("ID", "WHEN", "TOOK", "HOW", "JOB", "RESULT")


def add_jobs(command: argparse.ArgumentParser) -> None:
    output.add_table(command, output.column_names(_HEAD), limit=True)
    command.add_argument("ident", metavar="ID", nargs="?", help="show this job, with its log if it "
                         "has ended: the beginning of its id, or “last”")  # fmt: skip
    output.flag(command, "--forget", "remove the job from the history; “all” is every job")


def jobs(args: argparse.Namespace) -> int:
    """torchkeeper jobs."""
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
    kept = history.kept()
    if args.json:
        past = ({k: v for k, v in one.to_json().items() if k != "log"} for one in kept.jobs)
        output.emit_all([*(job.to_json() for job in now), *past][: screen.now.limit])
    elif kept.jobs or now:
        output.table(_HEAD, [*map(_running_row, now), *map(_row, kept.jobs)], frozenset({2}))
    lines = say.count(kept.damaged, "line", "lines")
    more = f"; {lines} could not be understood" if kept.damaged else ""
    running_now = f"{say.count(len(now), 'job has', 'jobs have')} not ended; " if now else ""
    said = f"{running_now}{say.count(len(kept.jobs), 'job', 'jobs')} kept{more}."
    told = {"jobs": len(kept.jobs), "running": len(now), "damaged": kept.damaged}
    output.result(args, told, said)
    return 0


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
    return [one.id, say.when(one.ended), took, one.state, one.title, one.words]


def _whole(one: Past) -> list[str]:
    said = [
        ("job", one.id),
        ("what", one.title),
        ("ended", f"{say.when(one.ended)}, {one.state}"),
        ("took", "" if one.seconds is None else say.seconds(one.seconds)),
        *((name.lower(), text) for name, text in one.asked),
    ]
    told = [printable(text, 4096) for text in (*one.told, *(one.error or ())) if text]
    log = [printable(line, 4096) for line in one.log]
    return [*_labelled(said), *([""] if told else []), *told, *([""] if log else []), *log]


def _labelled(said: list[tuple[str, str]]) -> list[str]:
    wide = max(len(name) for name, _ in said)
    return [printable(f"{name:<{wide}}  {value}", 4096) for name, value in said if value]
