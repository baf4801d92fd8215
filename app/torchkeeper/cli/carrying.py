"""What commands ask an environment about built objects: how it builds them, and under which names
it looks for them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.cli import output
from torchkeeper.client import carrying
from torchkeeper.client.engines import interpreters, knowing
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import Described
    from torchkeeper.engine.messages.entries import Origin, OriginParams, OriginResult
    from torchkeeper.verdict.probed import Env


class Here(NamedTuple):
    """The interpreter whose verdicts are wanted, and what its probe told."""

    python: str
    torch: str
    facts: Env


def maker_of(args: argparse.Namespace) -> Env | None:
    """The facts of the interpreter that is meant, whose torch may have built objects. None where
    none was named and there is none with a torch: what is exported is then the same, less what a
    bundle says of its objects.
    """
    try:
        return knowing.environment(interpreters.chosen(args.env))
    except UserError:
        if args.env:
            raise
        return None


def note_undescribed(args: argparse.Namespace, answer: Described) -> None:
    """Say of how many objects a bundle does not tell how they were built."""
    output.remark(args, [carrying.undescribed(answer)])


def here_of(args: argparse.Namespace, files: Sequence[str]) -> Here | None:
    """The interpreter whose verdicts are wanted; None without a torch, or anything to be judged."""
    facts = maker_of(args) if all(map(os.path.isfile, files)) else None
    if facts is None:
        return None
    return Here(interpreters.chosen(args.env), str(facts["torch"]), facts)


def tell_names(
    args: argparse.Namespace, engine: Engine, files: Sequence[str], here: Here | None
) -> tuple[str | None, list[Origin]]:
    """Have an engine know the names of objects in an environment; its name, and what files say."""
    if here is not None:
        abouts = carrying.tell(engine, here.python, here.facts, files)
        threads = [carrying.threads(one["made_in"], here.facts) for one in abouts]
        output.remark(args, dict.fromkeys(threads))
        return here.python, abouts
    asked: OriginParams = {"files": files}
    told: OriginResult = engine.call(protocol.ORIGIN, asked)
    abouts = told["files"]
    said = "There is no interpreter with a torch: objects keep their names. Name one with --env."
    output.remark(args, [said] if any(one["built"] for one in abouts) else ())
    return None, abouts
