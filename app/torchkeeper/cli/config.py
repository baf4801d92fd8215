"""The command config: settings, profiles of them, where they come from and what is wrong."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace

from torchkeeper.cli import contract, findings, looking, output
from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.kept import whole
from torchkeeper.client.profiles import formats, keeping, profile, taking
from torchkeeper.client.profiles.formats import FORMATS, Read, chosen, found, is_file, read_any
from torchkeeper.client.words import say, settled
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.settings.finding import About, about_of, worst
from torchkeeper.settings.known import SETTINGS, default
from torchkeeper.settings.masks import taken
from torchkeeper.settings.processes import Process
from torchkeeper.settings.rules import check as rules

_HELP = """\
examples:
  torchkeeper config check                               what is set here, and what is wrong with it
  torchkeeper config show --pid 4711                     where a process has its settings from
  torchkeeper config set serving TORCHINDUCTOR_CACHE_DIR=/srv/cache
  torchkeeper config set serving TORCHINDUCTOR_REDIS_URL=-   with a password, that is asked for
  torchkeeper config export serving --format kubernetes  its env, for a container
  torchkeeper config import .env --name laptop           back again
  torchkeeper warm recipes/ --into /srv/cache --profile serving
  torchkeeper run --profile serving -- python serve.py

A PROFILE is one of yours by its name, or a FILE: a profile's own .toml, a script for sh, a .env
file, a Dockerfile or a manifest. No file is run. Passwords are shown by export only."""

_Run = Callable[[argparse.Namespace], int]


def add_config(command: argparse.ArgumentParser) -> None:
    output.describe(
        command,
        "The settings of PyTorch's caches: what each does, what is set, what is wrong with it, "
        "and\nprofiles, which are named sets of them. A process that gets a profile has its "
        "settings\nand no other.",
        _HELP,
    )
    parts = command.add_subparsers(metavar="WHAT", required=True)

    def part(name: str, run: _Run, help_text: str, more: str = "") -> argparse.ArgumentParser:
        made = output.add_part(parts, name, run, help_text, more)
        output.add_json(made)
        return made

    part("list", list_profiles, "list your profiles")
    show = part("show", _show, "show the settings of a profile, of this shell, of an interpreter "
                "or of a process, and where they come from")  # fmt: skip
    _add_optional(show)
    of = show.add_mutually_exclusive_group()
    of.add_argument("--env", metavar="PYTHON", help="the settings of an interpreter's torch in "
                    "this shell, and where each value comes from")  # fmt: skip
    of.add_argument("--pid", metavar="PID", type=int, help="the same for a running process of "
                    "yours, as far as it is visible")  # fmt: skip
    output.flag(show, "--all", "with --env or --pid: also PyTorch's defaults")
    listed = part("processes", processes, "list your running processes that have torch")
    output.flag(listed, "--all", "also those that have torch, but have not loaded it")
    check = part("check", check_settings, "list the faults of a profile, or of the settings of "
                 "this shell", contract.beyond("config check"))  # fmt: skip
    _add_optional(check)
    check.add_argument("--env", metavar="PYTHON", help="the interpreter that it is for: faults may "
                       "depend on its torch and GPU")  # fmt: skip
    export = part("export", export_profile, "write a profile, or the settings of this shell, in "
                  "another format, with its passwords")  # fmt: skip
    _add_optional(export)
    export.add_argument("--format", choices=FORMATS, required=True, help="sh, to be sourced; "
                        "a .env file; ENV lines of a Dockerfile; a container's env")  # fmt: skip
    export.add_argument("-o", "--output", metavar="FILE", type=looking.path,
                        help="write to this file instead of standard output")  # fmt: skip
    export.add_argument("--secret", metavar="NAME/KEY", help="with --format kubernetes: take the "
                        "password from this key of this Secret")  # fmt: skip
    import_ = part("import", import_profile, "make a profile of the settings in a file, without "
                   "running it")  # fmt: skip
    import_.add_argument("file", metavar="FILE", help="a script for sh, a .env file, a Dockerfile, "
                         "a manifest, or a profile; - for standard input")  # fmt: skip
    import_.add_argument("--format", choices=FORMATS, help="its format; by default it is guessed")
    import_.add_argument("--name", metavar="NAME", help="of the profile; by default the file's")
    output.flag(import_, "--force", "replace a profile of that name")
    _add_part(import_)
    set_ = part("set", change_profile, "change the settings of a profile, or create it")
    set_.add_argument("profile", metavar="PROFILE", help="its name, or a file")
    set_.add_argument("pairs", metavar="NAME=VALUE", nargs="*", help="a setting; with - as VALUE, "
                      "the command asks you or reads a line of standard input: others can see a "
                      "password in a command line")  # fmt: skip
    set_.add_argument("--unset", metavar="NAME", nargs="+", action="extend", default=[],
                      help="a setting to leave to PyTorch")  # fmt: skip
    set_.add_argument("--about", metavar="TEXT", help="what the profile is for")
    remove = part("remove", remove_profiles, "remove profiles")
    remove.add_argument("names", metavar="NAME", nargs="+", help="of a profile")
    rename = part("rename", rename_profile, "give a profile another name")
    rename.add_argument("old", metavar="NAME", help="of a profile")
    rename.add_argument("new", metavar="NEW", help="its new name")
    copy = part("copy", copy_profile, "keep a profile, or a file, under another name")
    copy.add_argument("old", metavar="PROFILE", help="its name, or a file")
    copy.add_argument("new", metavar="NEW", help="the name of the copy")
    part("settings", list_settings, "list all settings: what each does, and its default")


def _add_optional(command: argparse.ArgumentParser) -> None:
    command.add_argument("profile", metavar="PROFILE", nargs="?", help="its name, a file, or - for "
                         "standard input; without it, the environment of this shell")  # fmt: skip
    _add_part(command)


def _add_part(command: argparse.ArgumentParser) -> None:
    command.add_argument("--container", metavar="NAME", help="of a manifest with several")
    command.add_argument("--stage", metavar="NAME", help="of a Dockerfile; by default the last")


def check_settings(args: argparse.Namespace) -> int:
    """torchkeeper config check; ends by the worst that is found."""
    read = meant(args)
    one, left = read.profile, read.left
    env = args.env and probes.environment(interpreters.chosen(args.env))
    # Others are looked at for names that were meant to be settings.
    others = os.environ if args.profile is None else (name for name, _ in left)
    about = (about_of(env) if env else About())._replace(variables=frozenset(others))
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


def list_settings(args: argparse.Namespace) -> int:
    if args.json:
        for one in SETTINGS:
            about = {"default": default(one), "is_set": one.name in os.environ}
            output.emit({**one._asdict(), **about})
    else:
        for group in dict.fromkeys(one.group for one in SETTINGS):
            some = [one for one in SETTINGS if one.group == group]
            rows = [[one.name, default(one) or "-", one.does] for one in some]
            output.table(["SETTING", "DEFAULT", "WHAT IT DOES"], rows, frozenset())
            output.line()
    output.result(args, {"settings": len(SETTINGS)},
                  f"{say.count(len(SETTINGS), 'setting', 'settings')}.")  # fmt: skip
    return 0


#: What the environment of this shell is called.
HERE = "this shell"
#: What stands for a value that is not in the command.
ASK = "-"


def meant(args: argparse.Namespace) -> Read:
    """The profile that is named; "-" is standard input, None this process. Raises UserError."""
    if args.profile is None:
        return Read(profile.Profile(HERE, taken(os.environ)), [])
    return found(args.profile, args.container, args.stage)


def list_profiles(args: argparse.Namespace) -> int:
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
            wrong = worst(rules(one.values))
            row |= {"settings": len(one.values), "about": one.about, "worst": wrong}
        rows.append(row)
    if args.json:
        output.emit_all(rows)
    elif rows:
        cells = [[str(row["profile"]), "?" if row["problem"] else str(row["settings"]),
                  "damaged" if row["problem"] else str(row["worst"] or ""),
                  str(row["about"]).partition("\n")[0]] for row in rows]  # fmt: skip
        output.table(["PROFILE", "SETTINGS", "WRONG", "ABOUT"], cells, frozenset({1}))
    more = f", {damaged:,} damaged" if damaged else ""
    said = f"{say.count(len(rows), 'profile', 'profiles')}{more}."
    if not rows:
        said = "There is no profile; “torchkeeper config set NAME VARIABLE=VALUE” creates one."
    told = {"profiles": len(rows), "damaged": damaged, "folder": keeping.folder()}
    output.result(args, told, said)
    return contract.PARTLY if damaged else contract.DONE


def _show(args: argparse.Namespace) -> int:
    if args.env is not None or args.pid is not None:
        return _show_origins(args)
    read = meant(args)
    one, left_out = read.profile, read.left
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


def change_profile(args: argparse.Namespace) -> int:
    changes = dict(_pair(text) for text in args.pairs)
    for name in (*changes, *args.unset):
        profile.check_setting(name)
    changes = {name: _given(name) if text == ASK else text for name, text in changes.items()}
    file, new = is_file(args.profile), False
    if file and not args.profile.lower().endswith(keeping.SUFFIX):
        remedy = "To make a profile of it, use “config import”."
        what = f"{printable(args.profile)} is not the file of a profile."
        raise output.misuse(what, "Those end with .toml.", remedy)
    try:
        before = keeping.read_file(args.profile) if file else keeping.load(args.profile)
    except UserError as error:
        missing = file and not os.path.lexists(args.profile)
        if error.code != "profile-unknown" and not missing:
            raise
        stem = os.path.splitext(os.path.basename(args.profile))[0]
        before, new = profile.Profile(stem if file else args.profile), True
    values = {k: v for k, v in {**before.values, **changes}.items() if k not in args.unset}
    after = replace(before, values=values, about=before.about if args.about is None else args.about)
    if file:
        keeping.save_file(after, args.profile)
    else:
        keeping.save(after)
    wrong = rules(after.values)
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
    if sign:
        return name, value
    remedy = "Write NAME=VALUE, or --unset NAME."
    raise output.misuse(f"“{printable(text)}” sets nothing.", "", remedy)


def remove_profiles(args: argparse.Namespace) -> int:
    there = keeping.names()
    for name in args.names:
        if name not in there:  # before any is gone
            raise user_error("profile-unknown", {"name": name})
    for name in dict.fromkeys(args.names):
        keeping.remove(name)
    output.result(args, {"removed": args.names}, f"Removed: {printable(', '.join(args.names))}.")
    return 0


def rename_profile(args: argparse.Namespace) -> int:
    keeping.rename(args.old, args.new)
    output.result(args, {"profile": args.new, "was": args.old},
                  printable(f"{args.old} is called {args.new} now."))  # fmt: skip
    return 0


def copy_profile(args: argparse.Namespace) -> int:
    file = keeping.save(replace(chosen(args.old), name=args.new), replace=False)
    output.result(args, {"profile": args.new, "of": args.old, "file": file},
                  printable(f"{args.new} is a copy of {args.old}."))  # fmt: skip
    return 0


def export_profile(args: argparse.Namespace) -> int:
    if args.secret and args.format != "kubernetes":
        raise output.misuse("Only Kubernetes has Secrets.", "", "Leave out --secret.")
    read = meant(args)
    read.check_told(args.profile or "")
    one = read.profile
    text = formats.write(one, args.format, args.secret)
    if args.output:
        secret = profile.with_password(one) and not args.secret
        try:
            whole.write_text(args.output, text, 0o600 if secret else None)
        except OSError as e:
            why = e.strerror or str(e)
            raise user_error("output-unwritable", {"file": args.output, "why": why}) from e
    said = formats.notes(one, args.format, args.secret)
    found = rules(one.values)
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


def import_profile(args: argparse.Namespace) -> int:
    if taking.is_stream(args.file) and not args.name:
        raise output.misuse("The profile has no name.", "", "Give one with --name.")
    name = profile.check_name(args.name or taking.stem(args.file))
    read = read_any(args.file, name, args.format, args.container, args.stage)
    output.remark(args, findings.left_lines(read.left))
    read.check_told(args.file)
    if not read.profile.values and not read.profile.about:
        raise user_error("profile-import-nothing", {"file": args.file})
    kept = keeping.save(read.profile, replace=args.force)
    # Others are looked at for names that were meant to be settings.
    others = frozenset(name for name, _ in read.left)
    found = rules(read.profile.values, About(variables=others))
    findings.note(args, found)
    count = say.count(len(read.profile.values), "setting", "settings")
    result = {"profile": name, "file": kept, "settings": profile.masked(read.profile),
              "left": findings.left_json(read.left),
              "findings": [findings.to_json(each) for each in found]}  # fmt: skip
    output.result(args, result, f"{printable(name)} has {count}.")
    return 0


def _show_origins(args: argparse.Namespace) -> int:
    if args.profile is not None:
        raise output.misuse("--env and --pid do not go with a profile.")
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
        for one in found.shown(args.all):
            output.emit({**one.to_json(), "from": settled.by_words(one, found)})
        output.emit({"result": result})
    else:
        _print_settled(found, of, args.all)
    return 0


def _print_settled(found: settled.Settled, of: str, everything: bool) -> None:
    if found.process:
        _print_process(found.process)
    else:
        output.line(f"{printable(of)}, torch {found.torch}")
    shown = found.shown(everything)
    rows = [[one.name, settled.value_words(one), settled.by_words(one, found)] for one in shown]
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
