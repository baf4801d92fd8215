"""The option --profile of the commands that start programs: what it does to their environment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchkeeper.cli import findings, output
from torchkeeper.cli.asking import python_for
from torchkeeper.client.engines import far, probes
from torchkeeper.client.profiles import profile
from torchkeeper.client.profiles.formats import found
from torchkeeper.settings.finding import About, about_of
from torchkeeper.settings.masks import applied

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import WarmParams


def add_profile(command: argparse.ArgumentParser, for_whom: str) -> None:
    """The options. for_whom: who gets the settings, as ``the program``."""
    command.add_argument("--profile", metavar="PROFILE", help=f"{for_whom} gets exactly the "
                         "settings of this profile, and no others of “config settings”: the name "
                         "of one of yours, or a file (see “config --help”)")  # fmt: skip
    output.flag(command, "--insist", "use the profile despite its faults")


def for_warm(args: argparse.Namespace, params: WarmParams) -> None:
    """Put the profile of the arguments into a request. Raises UserError where it cannot be used."""
    if one := _compiling(args, python_for(args.env, args.into)):
        overruled = profile.overruled(one, params.get("recipes") or ())
        output.remark(args, [*profile.moved(one, args.into), *overruled])
        params["settings"] = profile.sent(one)


def for_verify(args: argparse.Namespace, python: str) -> Mapping[str, str] | None:
    """The settings of the profile of the arguments. Raises UserError as ``for_warm``."""
    one = _compiling(args, python)
    return None if one is None else profile.sent(one)


def _compiling(args: argparse.Namespace, python: str) -> profile.Profile | None:
    """The profile that a compile is to have. Raises UserError where it cannot be used."""
    if args.profile is None:
        return None
    one = _given(args)
    profile.check_goes(one, far.machine_of(python))
    profile.check_caches(one)
    profile.allowed(one, None, args.insist)  # what needs no look at torch, first
    about = about_of(probes.environment(python))
    profile.check_caches(one, about.torch)
    findings.note(args, profile.allowed(one, about, args.insist))
    return one


def _given(args: argparse.Namespace) -> profile.Profile:
    """The profile of the arguments; says what of a file is not in it. Raises UserError."""
    read = found(args.profile)
    read.check_told(args.profile)
    output.remark(args, findings.left_lines(read.untold))
    return read.profile


def for_run(args: argparse.Namespace, env: Mapping[str, str]) -> dict[str, str]:
    """An environment with the settings of the profile of the arguments. Raises as ``for_warm``."""
    one = _running(args, About(variables=frozenset(env)))
    return dict(env) if one is None else applied(one.values, env)


def for_run_there(args: argparse.Namespace, machine: str) -> Mapping[str, str] | None:
    """What of the profile goes to another machine; None without one. Raises as ``for_warm``."""
    one = _running(args, About(), machine)
    return None if one is None else profile.sent(one)


def _running(args: argparse.Namespace, about: About, machine: str = "") -> profile.Profile | None:
    if args.profile is None:
        return None
    one = _given(args)
    profile.check_goes(one, machine)
    findings.note(args, profile.allowed(one, about, args.insist))
    output.remark(args, profile.moved(one, args.into) if args.into else ())
    return one
