"""The command jobs: what the window has done, and what came of it."""

from __future__ import annotations

import argparse

from torchkeeper.cli import looking, output
from torchkeeper.link import history, say
from torchkeeper.link.history import Past
from torchkeeper.link.words import UserError, printable


def add_jobs(command: argparse.ArgumentParser) -> None:
    """Arguments of jobs."""
    command.add_argument("ident", metavar="ID", nargs="?", help="show this job, with its log: the "
                         "beginning of its id, or “last”")  # fmt: skip
    command.add_argument("--forget", action="store_true",
                         help="remove the job from the history; “all” is every job")  # fmt: skip
    looking.add_json(command)


def jobs(args: argparse.Namespace) -> int:
    """torchkeeper jobs; 1 where none is kept."""
    if args.forget:
        return _forget(args)
    if args.ident:
        one = history.one(args.ident)
        if args.json:
            output.emit(one.to_json())
        else:
            output.lines(_whole(one))
        return 0
    kept = history.kept()
    if args.json:
        for one in kept.jobs:
            output.emit({k: v for k, v in one.to_json().items() if k != "log"})
    elif kept.jobs:
        output.table(
            ["ID", "WHEN", "TOOK", "HOW", "JOB", "WHAT CAME OF IT"],
            [_row(one) for one in kept.jobs],
            frozenset({2}),
        )
    lines = say.count(kept.damaged, "line", "lines")
    more = f"; {lines} could not be understood" if kept.damaged else ""
    said = f"{say.count(len(kept.jobs), 'job', 'jobs')}{more}."
    output.result(args, {"jobs": len(kept.jobs), "damaged": kept.damaged}, said)
    return int(not kept.jobs)


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
    wide = max(len(name) for name, _ in said)
    head = [printable(f"{name:<{wide}}  {value}", 4096) for name, value in said if value]
    told = [printable(text, 4096) for text in (*one.told, *(one.error or ())) if text]
    log = [printable(line, 4096) for line in one.log]
    return [*head, *([""] if told else []), *told, *([""] if log else []), *log]


def _forget(args: argparse.Namespace) -> int:
    if not args.ident:
        raise UserError(
            "Which job is to be forgotten?",
            "",
            "Give its id, “last”, or “all”.",
            code="wrong-usage",
        )
    every = args.ident == "all"
    gone = history.forget(None if every else [history.one(args.ident).id])
    output.result(args, {"forgotten": gone}, f"{say.count(gone, 'job', 'jobs')} forgotten.")
    return int(not gone)
