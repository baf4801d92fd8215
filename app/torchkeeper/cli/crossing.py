"""Copies from one machine to another."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from torchkeeper.cli import leaving, output, signing
from torchkeeper.cli.asking import Asker
from torchkeeper.client import carrying, crossing, temporary
from torchkeeper.client.engines import far, ferry
from torchkeeper.client.engines.interpreters import chosen
from torchkeeper.client.engines.probes import know, known
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.outcomes import ARRIVED
from torchkeeper.client.words.problems import CALLED
from torchkeeper.engine.protocol import COPY, EXPORT
from torchkeeper.stores.names import SUFFIX, scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import Select, bundles
    from torchkeeper.engine.messages.findings import LeftFinding
    from torchkeeper.verdict.probed import Env

    class Exported(bundles.ExportResult, total=False):
        """What was written, and who signed it, where it was to be signed."""

        signature: bundles.SignatureResult


def exported(
    asker: Asker, file: str, replace: bool = True, key: str = "", **asked: Any
) -> Exported:
    """Write a bundle here of what is on the machine that is asked, signed by a ``key`` of here, if
    one is named. Raises UserError.
    """
    made = ferry.name(machine) if (machine := asker.engine.machine) else file
    asked["sign"] = bool(key) and not machine
    answer: Exported = asker.ask(EXPORT, output=made, replace=replace, **asked)
    answer["output"] = file
    if not answer["entries"]:
        return answer
    if not machine:
        if answer.pop("held", False):
            answer["signature"] = signing.signed(asker, "", key, file, replace)
    elif key:
        with Engine() as engine:
            here = Asker(engine, quiet=True)
            come = made, file, answer["size"], key, replace, asker.carried
            crossing.fetch_signed(here.ask, *come)
            answer["signature"] = signing.signature_of(here, file)
    else:
        ferry.fetch(made, file, answer["size"], replace, asker.carried)
    if "signature" in answer:
        answer["size"] = os.path.getsize(file)
    return answer


@contextlib.contextmanager
def together(args: argparse.Namespace) -> Iterator[tuple[list[str], list[LeftFinding]]]:
    """Places that are all on one machine, and what was left where they were: where those of a
    command are on several, a bundle of what is meant comes from each other one. Raises UserError.
    """
    places: list[str] = list(args.places)
    left: list[LeftFinding] = []
    with contextlib.ExitStack() as stack:
        if len(set(map(far.machine_of, places))) > 1:
            folder = stack.enter_context(temporary.folder("crossing"))
            for number, place in enumerate(args.places):
                if far.is_far(place):
                    file = os.path.join(folder, f"{number}{SUFFIX}")
                    CALLED[file] = place
                    places[number] = file if _brought(args, place, file, left) else ""
        yield list(filter(None, places)) or args.places[:1], left


def _brought(
    args: argparse.Namespace, place: str, file: str, left: list[LeftFinding]
) -> bundles.ExportResult | None:
    """A bundle here of what is meant of a place elsewhere; None where that is nothing."""
    maker = leaving.maker_of(args, place) if carrying.may_have_objects(place) else None
    with Engine(far.machine_of(place)) as engine:
        asker = Asker(engine, args.json)
        # What comes to a folder of the user's is read by nobody else.
        answer = exported(
            asker, file, place=place, needs=args.with_needed, secrets="allow",
            select={"filter": args.filter, "envs": known(engine, args.filter, args.env)},
            builders=carrying.builders(maker),
        )  # fmt: skip
    left += asker.left
    return answer if answer["entries"] else None


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
        "select": selected(args, engine),
    }  # fmt: skip


def selected(args: argparse.Namespace, engine: Engine) -> Select:
    """What of the source is meant. Raises UserError."""
    if (held := getattr(args, "held", None)) is not None:
        from torchkeeper.fleet.retention import hold

        hold(held, lambda op, params: (engine.call(op, params), [], ()))
        return {"filter": "", "held": True}
    if args.usable:
        envs = know(engine, [chosen(args.env, engine.machine)])
        return {"filter": args.filter, "envs": envs, "fits": True}
    return {"filter": args.filter, "envs": known(engine, args.filter, args.env)}


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
