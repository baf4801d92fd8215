"""Copies from one machine to another: by way of a bundle, which is made where the entries are, goes
over the connection, and is placed where they are to be.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from torchkeeper.cli import leaving, signing
from torchkeeper.cli.asking import Asker
from torchkeeper.client import carrying, temporary
from torchkeeper.client.engines import far, ferry
from torchkeeper.client.engines.probes import known
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.signers import check_policy
from torchkeeper.engine.protocol import COPY, IMPORT, TARGET
from torchkeeper.stores.names import SUFFIX, scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import bundles


def crosses(source: str, target: str) -> bool:
    """Whether places are on two machines."""
    return far.machine_of(source) != far.machine_of(target)


def import_(args: argparse.Namespace, machine: str, manifests: Mapping[str, str]) -> int:
    """torchkeeper import into a place on another machine, of files that were looked at here."""
    with Engine(machine) as engine:
        asker = Asker(engine, args.json)
        with ferry.sent(machine, args.files, asker.carried) as there:
            answer: bundles.ImportResult = asker.ask(
                IMPORT, files=list(there.values()), into=args.into,
                manifests={there[file]: manifest for file, manifest in manifests.items()},
            )  # fmt: skip
    return asker.end(args, IMPORT, {**answer, "env": None}, args.into)


def copy(args: argparse.Namespace) -> int:
    """torchkeeper copy, where the places are on two machines."""
    to = far.machine_of(args.target)
    with ExitStack() as stack:
        folder = stack.enter_context(temporary.folder("crossing"))
        engine = stack.enter_context(Engine(to or None))
        asker = Asker(engine, args.json)
        bundle, first = _taken(args, asker, os.path.join(folder, f"bundle{SUFFIX}"))
        env = None
        if to:
            sending = ferry.sent(to, [bundle], asker.carried)
            [bundle] = stack.enter_context(sending).values()
        elif scheme_of(args.target).becomes(args.target) == "folder":
            here = partial(leaving.here_of, args, [bundle])
            env = leaving.tell_names(args, engine, [bundle], here)[0]
        with leaving.telling_secrets(args, asker):
            answer: bundles.CopyResult = asker.ask(
                COPY, place=bundle, into=args.target, dry=args.dry_run, replace=args.replace,
                alone=args.alone, env=env, secrets=args.secrets,
            )  # fmt: skip
        answer["place"] = args.source
        if first:
            answer["stays"] = first["stays"]
            answer["leaks"] = answer["leaks"] or first["leaks"]
    found = leaving.secrets_found(asker) if answer["leaks"] else None
    return asker.end(args, COPY, {**answer, "leaks": found}, args.target, dry=args.dry_run)


def _taken(
    args: argparse.Namespace, asker: Asker, file: str
) -> tuple[str, bundles.CopyResult | None]:
    """A bundle here of what is to be copied, and what came of making it: nothing, where it is the
    source itself. asker: hears of what was left. Raises UserError, also where a bundle is not
    signed as the user requires.
    """
    whole = os.path.isfile(args.source) and not args.filter
    machine = far.machine_of(args.source)
    with Engine(machine or None) as engine:
        there = Asker(engine, args.json)
        if os.path.isfile(args.source):
            check_policy(args.source, signing.signature_of(there, args.source))
        if whole:
            return args.source, None
        made = ferry.name(machine) if machine else file
        maker = (
            leaving.maker_of(args, args.source) if carrying.may_have_objects(args.source) else None
        )
        # What comes to a folder of the user's is read by nobody else.
        private = machine and scheme_of(args.target).becomes(args.target) == "folder"
        here = not far.machine_of(args.target)
        select = {"filter": args.filter, "envs": known(engine, args.filter, args.env)}
        with leaving.telling_secrets(args, there):
            answer: bundles.CopyResult = there.ask(
                COPY, place=args.source, into=made, alone=args.alone, select=select,
                secrets="allow" if private and here else args.secrets,
                builders=carrying.builders(maker),
            )  # fmt: skip
            size = there.ask(TARGET, path=made)["size"] if machine else 0
        if machine:
            ferry.fetch(made, file, size, told=asker.carried)
        asker.left += there.left
        asker.findings += there.findings
    return file, answer
