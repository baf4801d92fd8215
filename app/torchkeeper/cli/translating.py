"""Profiles to and from what others read: config export and import."""

from __future__ import annotations

import argparse
import sys

from torchkeeper.cli import findings, output
from torchkeeper.cli.profiles import meant
from torchkeeper.client.kept import whole
from torchkeeper.client.profiles import formats, keeping, profile, reading
from torchkeeper.client.profiles.chosen import read_any
from torchkeeper.client.profiles.profile import check_name
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.settings.rules import About, check


def export(args: argparse.Namespace) -> int:
    """torchkeeper config export"""
    if args.secret and args.format != "kubernetes":
        raise UserError("Only Kubernetes has Secrets.", "", "Leave out --secret.",
                        code="wrong-usage")  # fmt: skip
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
    findings.note(found)
    for line in [*findings.left_lines(read.untold), *said]:
        output.note(line)
    if args.output:
        output.line(f"{printable(one.name)} written to {printable(args.output)}.")
    return 0


def import_(args: argparse.Namespace) -> int:
    """torchkeeper config import"""
    if reading.is_stream(args.file) and not args.name:
        raise UserError("The profile has no name.", "", "Give one with --name.",
                        code="wrong-usage")  # fmt: skip
    name = check_name(args.name or reading.stem(args.file))
    read = read_any(args.file, name, args.format, args.container, args.stage)
    if not args.json:
        for line in findings.left_lines(read.left):
            output.note(line)
    read.check_told(args.file)
    if not read.profile.values and not read.profile.about:
        raise user_error("profile-import-nothing", {"file": args.file})
    kept = keeping.save(read.profile, replace=args.force)
    # Others are looked at for names that were meant to be settings.
    about = About(variables=frozenset(name for name, _ in read.left))
    found = check(read.profile.values, about)
    if not args.json:
        findings.note(found)
    count = say.count(len(read.profile.values), "setting", "settings")
    result = {"profile": name, "file": kept, "settings": profile.masked(read.profile),
              "left": findings.left_json(read.left),
              "findings": [findings.to_json(each) for each in found]}  # fmt: skip
    output.result(args, result, f"{printable(name)} has {count}.")
    return 0
