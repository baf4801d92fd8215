"""Copies from one machine to another."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from torchkeeper.cli import leaving, signing
from torchkeeper.cli.asking import Asker
from torchkeeper.client import carrying, crossing
from torchkeeper.client.engines import far, ferry
from torchkeeper.client.engines.probes import known
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.signers import check_policy
from torchkeeper.engine.protocol import COPY, EXPORT, TARGET

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Secrets
    from torchkeeper.engine.messages import bundles


def exported(asker: Asker, file: str, replace: bool = True, **asked: Any) -> bundles.ExportResult:
    """Write a bundle here of what is on the machine that is asked. Raises UserError."""
    made = ferry.name(machine) if (machine := asker.engine.machine) else file
    answer: bundles.ExportResult = asker.ask(EXPORT, output=made, replace=replace, **asked)
    if machine and answer["entries"]:
        ferry.fetch(made, file, answer["size"], replace, asker.carried)
    answer["output"] = file
    return answer


def copy(args: argparse.Namespace) -> int:
    """torchkeeper copy, where the places are on two machines."""
    done, asker = copied(args)
    found = leaving.secrets_found(asker) if done["leaks"] else None
    return asker.end(args, COPY, {**done, "leaks": found}, args.target, dry=args.dry_run)


def copied(args: argparse.Namespace) -> tuple[bundles.CopyResult, Asker]:
    """What came of it, and who has heard what was left. Raises UserError."""
    first: bundles.CopyResult | None = None
    objects = carrying.may_have_objects(args.source)
    from_, to = (Engine(far.machine_of(place) or None) for place in (args.source, args.target))
    with from_, to:
        there, asker = Asker(from_, args.json), Asker(to, args.json)
        if os.path.isfile(args.source):
            check_policy(args.source, signing.signature_of(there, args.source))

        def make(made: str, secrets: Secrets | None) -> int:
            nonlocal first
            maker = leaving.maker_of(args, args.source) if objects else None
            select = {"filter": args.filter, "envs": known(from_, args.filter, args.env)}
            with leaving.telling_secrets(args, there):
                first = there.ask(
                    COPY, place=args.source, into=made, alone=args.alone, select=select,
                    secrets=secrets, builders=carrying.builders(maker),
                )  # fmt: skip
            size: int = there.ask(TARGET, path=made)["size"]
            return size

        def give(sent: str, named: bool) -> bundles.CopyResult:
            # The one that is named is of the place that has built them.
            here = partial(carrying.here_of, None if objects else args.env, [sent], to.machine)
            env = leaving.tell_names(args, to, [sent], here)[0] if named else None
            with leaving.telling_secrets(args, asker):
                answer: bundles.CopyResult = asker.ask(
                    COPY, place=sent, into=args.target, dry=args.dry_run, replace=args.replace,
                    alone=args.alone, env=env, secrets=args.secrets,
                )  # fmt: skip
            return answer

        done = crossing.copy(
            args.source, args.target, args.filter, args.secrets, make, give, asker.carried
        )
        done["place"] = args.source
        asker.left += there.left
        asker.findings += there.findings
        if first:
            done["stays"] = first["stays"]
            done["leaks"] = done["leaks"] or first["leaks"]
    return done, asker
