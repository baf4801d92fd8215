"""Profiles on the command line: list, show, set, remove, rename, copy; config export and import."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from dataclasses import replace

from torchkeeper.cli import findings, output
from torchkeeper.client.kept import whole
from torchkeeper.client.profiles import formats, keeping, profile, taking
from torchkeeper.client.profiles.chosen import chosen, found, is_file, read_any
from torchkeeper.client.profiles.formats import Read
from torchkeeper.client.profiles.profile import Profile, check_name
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.settings.finding import About, worst
from torchkeeper.settings.masks import taken
from torchkeeper.settings.rules import check

#: What the environment of this shell is called.
HERE = "this shell"
#: What stands for a value that is not in the command.
ASK = "-"


def meant(named: str | None, container: str | None = None, stage: str | None = None) -> Read:
    """The profile of an argument: by name or path, "-" for standard input, None for what is set in
    this process. Raises UserError.
    """
    if named is None:
        return Read(Profile(HERE, taken(os.environ)), [])
    return found(named, container, stage)


def list_(args: argparse.Namespace) -> int:
    rows: list[dict[str, object]] = []
    damaged = 0
    for name in keeping.names():
        row: dict[str, object] = {
            "profile": name, "file": keeping.file_of(name), "settings": None, "about": "",
            "worst": None, "problem": None,
        }  # fmt: skip
        try:
            one = keeping.load(name)
        except UserError as error:
            damaged += 1
            row["problem"] = error.why
            if not args.json:
                output.complain(error)
        else:
            wrong = worst(check(one.values))
            row |= {"settings": len(one.values), "about": one.about, "worst": wrong}
        rows.append(row)
    output.emit_all(rows if args.json else ())
    if rows and not args.json:
        cells = [[str(row["profile"]), "?" if row["problem"] else str(row["settings"]),
                  "damaged" if row["problem"] else str(row["worst"] or ""),
                  str(row["about"]).partition("\n")[0]] for row in rows]  # fmt: skip
        output.table(["PROFILE", "SETTINGS", "WRONG", "ABOUT"], cells, frozenset({1}))
    more = f", {damaged:,} damaged" if damaged else ""
    said = f"{say.count(len(rows), 'profile', 'profiles')}{more}."
    if not rows:
        said = "There is no profile; “torchkeeper config set NAME VARIABLE=VALUE” makes one."
    told = {"profiles": len(rows), "damaged": damaged, "folder": keeping.folder()}
    output.result(args, told, said)
    return int(damaged > 0)


def show(args: argparse.Namespace) -> int:
    one, left_out = meant(args.profile, args.container, args.stage)
    values = profile.masked(one)
    hidden = profile.with_password(one)
    if args.json:
        for name, text in values.items():
            output.emit({"name": name, "value": text, "masked": name in hidden})
    else:
        for line in one.about.splitlines():
            output.line(f"# {printable(line)}")
        # Not as a shell has it: what is masked is not to be copied.
        rows = [[name, text or "(empty)"] for name, text in values.items()]
        if rows:
            output.table(["SETTING", "VALUE"], rows, frozenset())
        output.notes(findings.left_lines(left_out))
    left = say.count(len(profile.left_open(one)), "other is", "others are")
    named = one.name.capitalize() if one.name == HERE else printable(one.name)
    told = f"{named}: {say.count(len(values), 'setting', 'settings')}; {left} "
    told += "not set." if args.profile is None else "left to PyTorch."
    result = {"profile": one.name, "about": one.about, "settings": len(values),
              "left": findings.left_json(left_out)}  # fmt: skip
    output.result(args, result, told)
    return 0


def set_(args: argparse.Namespace) -> int:
    changes = dict(_pair(text) for text in args.pairs)
    for name in (*changes, *args.unset):
        profile.check_setting(name)
    changes = {name: _given(name) if text == ASK else text for name, text in changes.items()}
    file, new = is_file(args.profile), False
    if file and not args.profile.lower().endswith(keeping.SUFFIX):
        remedy = "To make a profile of it, use “config import”."
        what = f"{printable(args.profile)} is no profile's file."
        raise output.misuse(what, "Those end with .toml.", remedy)
    try:
        before = keeping.read_file(args.profile) if file else keeping.load(args.profile)
    except UserError as error:
        missing = file and not os.path.lexists(args.profile)
        if error.code != "profile-unknown" and not missing:
            raise
        stem = os.path.splitext(os.path.basename(args.profile))[0]
        before, new = Profile(stem if file else args.profile), True
    values = {k: v for k, v in {**before.values, **changes}.items() if k not in args.unset}
    after = replace(before, values=values, about=before.about if args.about is None else args.about)
    if file:
        keeping.save_file(after, args.profile)
    else:
        keeping.save(after)
    wrong = check(after.values)
    findings.note(args, wrong)
    count = say.count(len(values), "setting", "settings")
    result = {"profile": after.name, "settings": profile.masked(after), "new": new,
              "findings": [findings.to_json(one) for one in wrong]}  # fmt: skip
    output.result(args, result, f"{printable(after.name)} {'made' if new else 'changed'}: {count}.")
    return 0


def _given(name: str) -> str:
    """A value that nobody is to see in a list of processes: typed, or a line of standard input."""
    if output.can_ask():
        with contextlib.suppress(EOFError):
            return output.ask_password(f"{name}: ")
    line = sys.stdin.buffer.readline(profile.MOST_VALUE + 2)
    if not line:
        remedy = f"Give it a line for each “{ASK}”."
        raise output.misuse(
            f"There is no value for {name}.", "Standard input is at its end.", remedy
        )
    return line.rstrip(b"\r\n").decode(errors="surrogateescape")


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        remedy = "Write NAME=VALUE, or --unset NAME."
        raise output.misuse(f"“{printable(text)}” sets nothing.", "", remedy)
    return name, value


def remove(args: argparse.Namespace) -> int:
    there = keeping.names()
    for name in args.names:
        if name not in there:  # before any is gone
            raise user_error("profile-unknown", {"name": name})
    for name in dict.fromkeys(args.names):
        keeping.remove(name)
    output.result(args, {"removed": args.names}, f"Removed: {printable(', '.join(args.names))}.")
    return 0


def rename(args: argparse.Namespace) -> int:
    keeping.rename(args.old, args.new)
    output.result(args, {"profile": args.new, "was": args.old},
                  printable(f"{args.old} is called {args.new} now."))  # fmt: skip
    return 0


def copy(args: argparse.Namespace) -> int:
    one = replace(chosen(args.old), name=args.new)
    file = keeping.save(one, replace=False)
    output.result(args, {"profile": args.new, "of": args.old, "file": file},
                  printable(f"{args.new} is a copy of {args.old}."))  # fmt: skip
    return 0


def export(args: argparse.Namespace) -> int:
    if args.secret and args.format != "kubernetes":
        raise output.misuse("Only Kubernetes has Secrets.", "", "Leave out --secret.")
    read = meant(args.profile, args.container, args.stage)
    read.check_told(args.profile or "")
    one = read.profile
    text = formats.write(one, args.format, args.secret)
    secret = bool(profile.with_password(one)) and not args.secret
    if args.output:
        try:
            whole.write_text(args.output, text, 0o600 if secret else None)
        except OSError as e:
            why = e.strerror or str(e)
            raise user_error("output-unwritable", {"file": args.output, "why": why}) from e
    said = formats.notes(one, args.format, args.secret)
    found = check(one.values)
    if args.json:
        told = {"profile": one.name, "format": args.format, "file": args.output, "notes": said,
                "findings": [findings.to_json(each) for each in found],
                "left": findings.left_json(read.left),
                "text": None if args.output else text}  # fmt: skip
        output.emit({"result": told})
        return 0
    if not args.output:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())  # whatever the terminal's encoding is
        sys.stdout.buffer.flush()
    findings.note(args, found)
    output.notes([*findings.left_lines(read.untold), *said])
    if args.output:
        output.line(f"{printable(one.name)} written to {printable(args.output)}.")
    return 0


def import_(args: argparse.Namespace) -> int:
    if taking.is_stream(args.file) and not args.name:
        raise output.misuse("The profile has no name.", "", "Give one with --name.")
    name = check_name(args.name or taking.stem(args.file))
    read = read_any(args.file, name, args.format, args.container, args.stage)
    output.remark(args, findings.left_lines(read.left))
    read.check_told(args.file)
    if not read.profile.values and not read.profile.about:
        raise user_error("profile-import-nothing", {"file": args.file})
    kept = keeping.save(read.profile, replace=args.force)
    # Others are looked at for names that were meant to be settings.
    about = About(variables=frozenset(name for name, _ in read.left))
    found = check(read.profile.values, about)
    findings.note(args, found)
    count = say.count(len(read.profile.values), "setting", "settings")
    result = {"profile": name, "file": kept, "settings": profile.masked(read.profile),
              "left": findings.left_json(read.left),
              "findings": [findings.to_json(each) for each in found]}  # fmt: skip
    output.result(args, result, f"{printable(name)} has {count}.")
    return 0
