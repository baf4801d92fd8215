"""Where settings come from, on the command line: config show with --env or --pid, and config
processes.
"""

from __future__ import annotations

import argparse

from torchkeeper.cli import findings, output
from torchkeeper.client.engines import interpreters
from torchkeeper.client.words import say, settled
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.settled import Settled
from torchkeeper.settings.processes import Process


def add_show(command: argparse.ArgumentParser) -> None:
    of = command.add_mutually_exclusive_group()
    of.add_argument("--env", metavar="PYTHON", help="what an interpreter's torch makes of this "
                    "shell, and where each value comes from")  # fmt: skip
    of.add_argument("--pid", metavar="PID", type=int, help="the same of a running process of "
                    "yours, as far as it can be seen")  # fmt: skip
    output.flag(command, "--all", "with --env or --pid: also what is as PyTorch has it")


def add_processes(command: argparse.ArgumentParser) -> None:
    output.flag(command, "--all", "also those that have a torch, and have not loaded it")


def show(args: argparse.Namespace) -> int:
    if args.profile is not None:
        raise output.misuse("A profile is shown without --env and --pid.")
    if args.pid is not None:
        found = settled.of_process(args.pid)
        of = f"process {args.pid}"
    else:
        of = interpreters.chosen(args.env)
        found = settled.of_environment(of)
    result: dict[str, object] = {"of": of, "torch": found.torch, "triton": found.triton}
    if found.process:
        looked = {"kind": found.kind, "main": found.main, "files": found.files,
                  "unread": found.unread, "changed": found.changed,
                  "stopped": found.stopped}  # fmt: skip
        result |= {"process": found.process.to_json(), "lost": found.lost, "looked": looked}
    result["findings"] = [findings.to_json(one) for one in found.findings]
    if args.json:
        output.emit_all(
            {**one.to_json(), "from": settled.by_words(one, found)} for one in found.shown(args.all)
        )
        output.emit({"result": result})
    else:
        _print(found, of, args.all)
    return 0


def _print(found: Settled, of: str, everything: bool) -> None:
    if found.process:
        _print_process(found.process)
    else:
        output.line(f"{printable(of)}, torch {found.torch}")
    rows = [
        [one.name, settled.value_words(one), settled.by_words(one, found)]
        for one in found.shown(everything)
    ]
    output.table(["SETTING", "VALUE", "FROM"], rows, frozenset())
    for one in found.origins:
        more = [over for over in one.overrides if over.where != one.where]
        if one in found.shown():
            output.lines([f"{one.name}: {settled.override_words(over)}." for over in more])
    output.lines(settled.unseen(found))
    left = len(found.shown(True)) - len(rows)
    if left and not everything:
        output.line(f"{say.count(left, 'other is', 'others are')} as PyTorch has them (--all).")
    output.lines(findings.lines(found.findings))


def _print_process(process: Process) -> None:
    torch = f"torch {process.torch}" if process.torch else "an unknown torch"
    since = f", started {say.when(process.started)}" if process.started else ""
    output.line(f"process {process.pid}: {printable(' '.join(process.command))}")
    output.line(f"  {printable(process.python)}, {torch}{since}")
    if process.elsewhere:
        output.line("  It runs in a container, or with mounts of its own: paths are its own.")
    for folder in process.folders:
        files = say.count(folder.files, "file", "files")
        output.line(f"  uses {printable(folder.path)}: {files} {folder.why}")


def processes(args: argparse.Namespace) -> int:
    found = settled.processes()
    shown = [one for one in found.processes if one.loaded or args.all]
    if args.json:
        output.emit_all(one.to_json() for one in shown)
    elif shown:
        rows = [
            [str(one.pid), one.torch or "?", say.ago(one.started) if one.started else "?",
             " ".join(folder.path for folder in one.folders) or "-", " ".join(one.command)]
            for one in shown
        ]  # fmt: skip
        output.table(["PID", "TORCH", "STARTED", "CACHE IN USE", "COMMAND"], rows, frozenset({0}))
    left = len(found.processes) - len(shown)
    told = f"{say.count(len(shown), 'process', 'processes')} with torch"
    if left:
        told += f"; {left:,} more could load one (--all)"
    hidden = settled.hidden_words(found)
    result = {"count": len(shown), "not_loaded": left, "hidden": found.hidden, "sees": found.sees}
    output.result(args, result, f"{told}. {hidden}".rstrip())
    return 0
