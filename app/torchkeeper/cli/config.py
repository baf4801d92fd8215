"""The command about settings: config, with profiles of them, what they are, and what is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from torchkeeper.cli import looking, origins, output, profiles, settings
from torchkeeper.client.profiles.formats import FORMATS

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
_EXIT = "The exit code is 0 with nothing worse than advice, 4 with warnings, 5 with errors."


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

    part("list", profiles.list_, "list your profiles")
    show = part("show", _show, "show the settings of a profile, or those that are set here, or of "
                "an interpreter or a process with what made them so")  # fmt: skip
    _add_optional(show)
    origins.add_show(show)
    listed = part("processes", origins.processes, "list your running processes that have torch")
    origins.add_processes(listed)
    check = part("check", settings.check, "say what is wrong with a profile, or with what is set "
                 "here", _EXIT)  # fmt: skip
    _add_optional(check)
    check.add_argument("--env", metavar="PYTHON", help="the interpreter that it is for: what is "
                       "wrong may depend on its torch and GPU")  # fmt: skip
    export = part("export", profiles.export, "write a profile, or what is set here, for others "
                  "to read, with its passwords")  # fmt: skip
    _add_optional(export)
    export.add_argument("--format", choices=FORMATS, required=True, help="sh, to be sourced; "
                        "a .env file; ENV lines of a Dockerfile; a container's env")  # fmt: skip
    export.add_argument("-o", "--output", metavar="FILE", type=looking.path,
                        help="write it there instead of to standard output")  # fmt: skip
    export.add_argument("--secret", metavar="NAME/KEY", help="with --format kubernetes: take what "
                        "has a password from this key of this Secret")  # fmt: skip
    import_ = part("import", profiles.import_, "make a profile of what a file sets, which is "
                   "not run")  # fmt: skip
    import_.add_argument("file", metavar="FILE", help="a script for sh, a .env file, a Dockerfile, "
                         "a manifest, or a profile; - for standard input")  # fmt: skip
    import_.add_argument("--format", choices=FORMATS, help="what it is; else that is guessed")
    import_.add_argument("--name", metavar="NAME", help="of the profile; by default the file's")
    output.flag(import_, "--force", "replace a profile of that name")
    _add_part(import_)
    set_ = part("set", profiles.set_, "change the settings of a profile, or make one")
    set_.add_argument("profile", metavar="PROFILE", help="its name, or a file")
    set_.add_argument("pairs", metavar="NAME=VALUE", nargs="*", help="what is to be set; with - as "
                      "VALUE you are asked, or a line of standard input is read: others see what "
                      "is in a command, and a password is not to be there")  # fmt: skip
    set_.add_argument("--unset", metavar="NAME", nargs="+", action="extend", default=[],
                      help="what is to be left to PyTorch")  # fmt: skip
    set_.add_argument("--about", metavar="TEXT", help="what the profile is for")
    remove = part("remove", profiles.remove, "remove profiles")
    remove.add_argument("names", metavar="NAME", nargs="+", help="of a profile")
    rename = part("rename", profiles.rename, "give a profile another name")
    rename.add_argument("old", metavar="NAME", help="of a profile")
    rename.add_argument("new", metavar="NEW", help="its new name")
    copy = part("copy", profiles.copy, "keep a profile, or a file, under another name")
    copy.add_argument("old", metavar="PROFILE", help="its name, or a file")
    copy.add_argument("new", metavar="NEW", help="the name of the copy")
    part("settings", settings.table, "list all settings: what each does, and its default")


def _add_optional(command: argparse.ArgumentParser) -> None:
    command.add_argument("profile", metavar="PROFILE", nargs="?", help="its name, a file, or - for "
                         "standard input; without it, the environment of this shell")  # fmt: skip
    _add_part(command)


def _add_part(command: argparse.ArgumentParser) -> None:
    command.add_argument("--container", metavar="NAME", help="of a manifest with several")
    command.add_argument("--stage", metavar="NAME", help="of a Dockerfile; by default the last")


def _show(args: argparse.Namespace) -> int:
    here = args.env is None and args.pid is None
    return profiles.show(args) if here else origins.show(args)
