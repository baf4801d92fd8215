"""The other end of ``ssh://``, as sshd starts it for a key that may do no more: serve."""

from __future__ import annotations

import argparse
import os
import re

from torchkeeper.cli import contract, looking, output
from torchkeeper.client.engines.travel import archive
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import far_end
from torchkeeper.stores.redis import way
from torchkeeper.stores.redis.address import parse

#: What whoever connects wants to read before the first word; sshd tells it with the command that
#: they asked for, and that does not run.
_TOKEN = re.compile(r"torchkeeper-[0-9a-f]{16}:")


def add_serve(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--only", metavar="FOLDER", action="append", required=True,
        help="a folder that may be seen, with all below it; may be given again",
    )  # fmt: skip
    output.flag(command, "--read-only", "nothing in these folders is changed")
    command.add_argument(
        "--env", metavar="PYTHON", action="append", default=[],
        help="an interpreter that may be started for verdicts; may be given again; by default none",
    )  # fmt: skip
    command.add_argument(
        "--server", metavar="SERVER", action="append", default=[], type=looking.server,
        help="a redis:// address that may be reached from here, for all that its password allows, "
        "--read-only or not; may be given again; by default none",
    )  # fmt: skip


def serve(args: argparse.Namespace) -> int:
    """torchkeeper serve; ends when the connection does."""
    asked = _TOKEN.search(os.environ.get("SSH_ORIGINAL_COMMAND", ""))
    if asked is None:
        raise UserError(
            "This is for Torchkeeper alone.",
            "“torchkeeper serve” is a forced command of sshd, and nobody connects by ssh://.",
            "Put it into a line of ~/.ssh/authorized_keys, and type “torchkeeper ls ssh://…” "
            "on the other machine.",
            code="wrong-usage",
        )
    only = []
    for folder in args.only:
        if not os.path.isabs(folder):
            raise user_error("path-not-absolute", {"path": folder})
        only.append(os.path.realpath(folder))
    addresses = [parse(server).address for server in args.server]
    if through := next((str(one) for one in addresses if one.way), ""):
        raise user_error("place-elsewhere", {"place": through})
    servers = tuple(map(way.bare, addresses))
    served = tuple(only), args.read_only, tuple(args.env), servers
    serving = far_end.Serving(str(archive()), *served)
    far_end.main(asked[0], serving=serving)
    return contract.DONE
