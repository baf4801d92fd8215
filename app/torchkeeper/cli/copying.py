"""The command that copies between places."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from torchkeeper.cli import leaking, looking, output, signing
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.bundles import TRUST, not_trusted
from torchkeeper.cli.carrying import here_of, maker_of, tell_names
from torchkeeper.client import carrying
from torchkeeper.client.engines.knowing import known
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import protected
from torchkeeper.client.words.outcomes import ARRIVED
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine.protocol import COPY
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyResult


def add_copy(command: argparse.ArgumentParser) -> None:
    """Arguments of copy."""
    command.add_argument("source", metavar="SRC", type=looking.place,
                         help="a cache folder, a bundle or a redis:// server")  # fmt: skip
    command.add_argument("target", metavar="DST", type=looking.place,
                         help="the same; *.torchcache makes a bundle")  # fmt: skip
    looking.add_filter(command)
    command.add_argument("--alone", action="store_true",
                         help="without what the entries need: graphs, code, kernels")  # fmt: skip
    command.add_argument("--dry-run", action="store_true",
                         help="only print what would be copied")  # fmt: skip
    command.add_argument("--replace", action="store_true",
                         help="replace a bundle that is there; no entry ever is")  # fmt: skip
    command.add_argument("--trust", action="store_true",
                         help="do not ask: you trust whoever made the bundle")  # fmt: skip
    leaking.add_choice(command)
    looking.add_json(command)


def copy(args: argparse.Namespace) -> int:
    """torchkeeper copy; 1 if nothing was to be copied, or something was left that should not."""
    if not args.dry_run:
        protected.check(args.target)
    from_file, what = os.path.isfile(args.source), scheme_of(args.target).becomes(args.target)
    brings = from_file and what != "bundle" and not args.dry_run
    signed = brings and not args.trust and signing.trusted(args.source)
    if brings and not signed:
        _ask(args)
    names = from_file and what == "folder"
    here = here_of(args, [args.source]) if names else None
    told = from_file or not scheme_of(args.source).holds_objects
    maker = maker_of(args) if what == "bundle" and not told else None
    with Engine() as engine:
        asker = Asker(engine, args.json)
        asker.only_signed = signed
        envs = known(engine, args.filter, args.env)
        env, _ = tell_names(args, engine, [args.source], here) if names else (None, [])
        try:
            with leaking.telling(args, asker):
                answer: CopyResult = asker.ask(
                    COPY,
                    place=args.source,
                    into=args.target,
                    dry=args.dry_run,
                    replace=args.replace,
                    alone=args.alone,
                    select={"filter": args.filter, "envs": envs},
                    builders=carrying.builders(maker),
                    env=env,
                    secrets=args.secrets,
                )
        except KeyboardInterrupt:
            if scheme_of(args.target).keeps_part and not args.dry_run:
                output.note(ARRIVED)
            raise
    found = leaking.found(asker) if answer["leaks"] else None
    code = asker.end(args, COPY, {**answer, "leaks": found}, args.target, dry=args.dry_run)
    return code or leaking.blocked(args, answer["leaks"])


def _ask(args: argparse.Namespace) -> None:
    if args.trust:
        return
    if not output.can_ask():
        raise not_trusted("Nothing was copied.", TRUST, "the file")
    if not output.confirm(f"{TRUST}\nCopy to {printable(args.target)}?"):
        raise UserError("Nothing was copied.", code="declined")
