"""What commands ask and say about secrets that would leave with entries."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from torchkeeper.cli import output
from torchkeeper.cli.asking import Asker
from torchkeeper.client.words import leaks, say
from torchkeeper.client.words.problems import UserError, user_error

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Leaks, Private, Secret

    class _Told(TypedDict):
        found: list[Secret]

    class Told(_Told, total=False):
        """As of Leaks, with the secrets; nothing but these where nobody has looked."""

        secrets: int
        entries: int
        redacted: int
        fixed: int
        private: list[Private]


#: Secrets that are listed one by one on a terminal.
_LISTED = 20


def add_choice(command: argparse.ArgumentParser) -> None:
    some = command.add_mutually_exclusive_group()
    some.add_argument("--redact", dest="secrets", action="store_const", const="redact",
                      help="replace passwords and keys that are found in the entries by as many x; "
                      "without it, or one of the next two, nothing is written where there are "
                      "some")  # fmt: skip
    some.add_argument("--without-secrets", dest="secrets", action="store_const", const="leave",
                      help="leave out the entries that they are found in")  # fmt: skip
    some.add_argument("--allow-secrets", dest="secrets", action="store_const", const="allow",
                      help="take them along")  # fmt: skip


@contextlib.contextmanager
def telling(args: argparse.Namespace, asker: Asker) -> Iterator[None]:
    """List the secrets that were found, and the private facts, also where they are an end of it."""
    try:
        yield
    except UserError as error:
        if error.code == "secrets-found":
            output.remark(args, lines(found(asker)))
            if args.json:
                output.emit({"leaks": found(asker)})
        raise
    output.remark(args, lines(found(asker)))


def blocked(args: argparse.Namespace, told: Leaks | None) -> int:
    """1 where what was only foretold would end because of secrets, which is said; else 0."""
    if not args.dry_run or args.secrets or not told or not told["secrets"]:
        return 0
    output.complain(user_error("secrets-found", told))
    return 1


def found(asker: Asker) -> Told:
    """The last summary of what was found, with the secrets."""
    secrets = [one["secret"] for one in asker.findings if "secret" in one]
    every = [one["leaks"] for one in asker.findings if "leaks" in one]
    return {**every[-1], "found": secrets} if every else {"found": secrets}


def lines(told: Told) -> list[str]:
    said = [f"secret: {leaks.line(one)}" for one in told["found"][:_LISTED]]
    total = told.get("secrets", 0)
    if total > _LISTED:
        said.append(f"secret: and {total - _LISTED:,} more")
    if redacted := told.get("redacted"):
        said.append(f"Secrets were redacted in {say.count(redacted, 'entry', 'entries')}.")
    said += [f"private: {text}" for text in leaks.private(told.get("private", ()))]
    return said
