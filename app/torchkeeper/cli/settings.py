"""Settings on the command line: config check, and config settings, the table of all."""

from __future__ import annotations

import argparse
import os

from torchkeeper.cli import findings, output, profiles
from torchkeeper.client.engines import interpreters, knowing
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.settings.finding import About, about_of
from torchkeeper.settings.known import SETTINGS, default
from torchkeeper.settings.rules import check as rules


def check(args: argparse.Namespace) -> int:
    """torchkeeper config check; 0, 4 or 5 by the worst that is found."""
    read = profiles.meant(args.profile, args.container, args.stage)
    one, left = read
    about = About()
    if args.env:
        about = about_of(knowing.environment(interpreters.chosen(args.env)))
    # Others are looked at for names that were meant to be settings.
    others = os.environ if args.profile is None else (name for name, _ in left)
    about = about._replace(variables=frozenset(others))
    found = rules(one.values, about)
    if args.json:
        output.emit_all(findings.to_json(each) for each in found)
    else:
        output.notes(findings.left_lines(left))
        output.lines(findings.lines(found))
    read.check_told(args.profile or "")
    count = say.count(len(one.values), "setting", "settings")
    if read.untold:
        count += f" and {len(read.untold):,} left out"
    said = f"{printable(one.name)}: {count}, {findings.summary(found)}."
    result = {"profile": one.name, "settings": len(one.values), "findings": len(found),
              "left": findings.left_json(left),
              "worst": found[0].severity if found else None}  # fmt: skip
    output.result(args, result, said[:1].upper() + said[1:] if args.profile is None else said)
    return findings.code(found)


def table(args: argparse.Namespace) -> int:
    if args.json:
        for one in SETTINGS:
            output.emit(
                {**one._asdict(), "default": default(one), "is_set": one.name in os.environ}
            )
    else:
        for group in dict.fromkeys(one.group for one in SETTINGS):
            some = [one for one in SETTINGS if one.group == group]
            rows = [[one.name, default(one) or "-", one.does] for one in some]
            output.table(["SETTING", "DEFAULT", "WHAT IT DOES"], rows, frozenset())
            output.line()
    output.result(args, {"settings": len(SETTINGS)},
                  f"{say.count(len(SETTINGS), 'setting', 'settings')}.")  # fmt: skip
    return 0
