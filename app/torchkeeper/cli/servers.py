"""Commands about Redis servers alone: how one is, and how long it keeps what it has."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Asker, asking
from torchkeeper.client.engines.probes import known
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import owned
from torchkeeper.client.words.environments import figures, meanings
from torchkeeper.client.words.problems import printable
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import TTL

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import ServerResult, TtlResult

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31557600}
_TIME = re.compile(r"(\d+(?:\.\d+)?)([smhdwy]?)")


def _time(text: str) -> float | None:
    if text == "never":
        return None
    match = _TIME.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError("it is neither a time such as 30d nor “never”")
    return float(match[1]) * _UNITS[match[2]]


def add_ttl(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="SERVER", type=looking.server, help="a redis:// address")
    command.add_argument("time", metavar="TIME", type=_time, help="how long entries stay from now "
                         "on, such as 12h or 30d; or never, for no end")  # fmt: skip
    looking.add_filter(command)


def ttl(args: argparse.Namespace) -> int:
    """torchkeeper ttl; ends partly, or with 1, if not all could be changed."""
    with asking(args) as asker:
        select = {"filter": args.filter, "envs": known(asker.engine, args.filter, args.env)}
        answer: TtlResult = asker.ask(TTL, place=args.place, select=select, ttl_s=args.time)
    return asker.end(args, TTL, answer, args.place, time=args.time)


def add_server(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="SERVER", type=looking.server, help="a redis:// address")


def server(args: argparse.Namespace) -> int:
    """torchkeeper server: what it says of itself, and what that means for a cache."""
    with Engine() as engine:
        page: ServerResult = Asker(engine, args.json).ask(protocol.SERVER, place=args.place)
    if args.json:
        output.emit({**page, "owners": owned.to_json(page["owners"])})
        return 0
    output.line(f"{printable(str(page['place']))}:")
    output.lines([f"  {name + ':':<24} {value}" for name, value in figures(page)])
    output.lines([f"- {text}" for text in meanings(page)])
    output.tell_owners(page["owners"])
    return 0
