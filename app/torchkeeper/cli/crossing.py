"""Copies from one machine to another."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from torchkeeper.cli import leaving, output
from torchkeeper.cli.asking import Asker
from torchkeeper.client import carrying, crossing
from torchkeeper.client.engines import far, ferry
from torchkeeper.client.engines.probes import known
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.outcomes import ARRIVED
from torchkeeper.engine.protocol import COPY, EXPORT
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import bundles
    from torchkeeper.verdict.probed import Env


def exported(asker: Asker, file: str, replace: bool = True, **asked: Any) -> bundles.ExportResult:
    """Write a bundle here of what is on the machine that is asked. Raises UserError."""
    made = ferry.name(machine) if (machine := asker.engine.machine) else file
    answer: bundles.ExportResult = asker.ask(EXPORT, output=made, replace=replace, **asked)
    if machine and answer["entries"]:
        ferry.fetch(made, file, answer["size"], replace, asker.carried)
    answer["output"] = file
    return answer


def copied(args: argparse.Namespace) -> tuple[bundles.CopyResult, Asker]:
    """The result, and the asker that heard which entries were left out. Raises UserError."""
    from_, to = (Engine(far.machine_of(place) or None) for place in (args.source, args.target))
    with from_, to:
        there, asker = Asker(from_, args.json), Asker(to, args.json)
        objects = carrying.may_have_objects(args.source)
        maker = leaving.maker_of(args, args.source) if objects else None

        def names(file: str) -> str | None:
            # The one that is named is of the place that has built them.
            here = partial(carrying.here_of, None if objects else args.env, [file], to.machine)
            return leaving.tell_names(args, to, [file], here)[0]

        asks = partial(ask, args, there), partial(ask, args, asker)
        what = asked(args, from_, maker)
        done = crossing.copy(what, *asks, names, asker.carried, args.direct)
        asker.left += there.left
        asker.findings += there.findings
    return done, asker


def asked(args: argparse.Namespace, engine: Engine, maker: Env | None) -> bundles.CopyParams:
    """What a copy asks for; engine: of the source. maker: who may have built its objects."""
    return {
        "place": args.source, "into": args.target, "dry": args.dry_run, "replace": args.replace,
        "alone": args.alone, "secrets": args.secrets, "builders": carrying.builders(maker),
        "select": {"filter": args.filter, "envs": known(engine, args.filter, args.env)},
    }  # fmt: skip


def ask(args: argparse.Namespace, asker: Asker, op: str, asked: Mapping[str, object]) -> Any:
    """The result of an operation of a copy; what stays where it is stopped is told."""
    if op != COPY:
        return asker.ask(op, **asked)
    with leaving.telling_secrets(args, asker):
        try:
            return asker.ask(op, **asked)
        except KeyboardInterrupt:
            if scheme_of(str(asked["into"])).keeps_part and not asked["dry"]:
                output.note(ARRIVED)
            raise
