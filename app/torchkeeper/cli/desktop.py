"""The app in the menus of the desktop, and its bundles a type of file: install-desktop."""

from __future__ import annotations

import argparse
import os

from torchkeeper.cli import contract, output
from torchkeeper.client.desktop import placing
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable

#: Where a system has what its administrator, and not its packages, installed.
SYSTEM = "/usr/local"
#: What is said of each part, and where its files stand.
_PARTS = (
    ("desktop entry", "applications/"),
    ("file type", "mime/packages/"),
    ("description", "metainfo/"),
)


def add_install_desktop(command: argparse.ArgumentParser) -> None:
    where = command.add_mutually_exclusive_group()
    output.flag(where, "--user", "for this user, in XDG_DATA_HOME or ~/.local/share (the default)")
    output.flag(where, "--system", f"for all users of this machine, in {SYSTEM}/share")
    where.add_argument("--prefix", metavar="DIR", help="in DIR/share")
    output.flag(command, "--remove", "remove exactly what this command wrote")
    output.flag(command, "--dry-run", "only print the changes")


def install_desktop(args: argparse.Namespace) -> int:
    """torchkeeper install-desktop; ends partly where something could not be done."""
    from torchkeeper.cli.main import drawing

    root = _root(args)
    shared = bool(args.system or args.prefix)
    lacks: UserError | None = None
    if args.remove:
        placed, command = placing.remove(root, args.dry_run, shared=shared), list[str]()
    else:
        command, draw = placing.program(), None
        try:
            draw = drawing()
        except UserError as error:
            lacks = error
        placed = placing.install(root, placing.made(command, draw), args.dry_run, shared=shared)
    if args.json:
        about = {"root": placed.root, "dry_run": args.dry_run, "command": command}
        files = {
            name: getattr(placed, name) for name in ("written", "unchanged", "removed", "left")
        }
        done = placed.refreshed._asdict()
        output.emit({"result": {**about, **files, "pictures": lacks is None, **done}})
    else:
        _tell(args, placed, command, lacks)
    some = any((placed.written, placed.unchanged, placed.removed))
    return contract.partly(some, placed.left or placed.refreshed.failed)


def _root(args: argparse.Namespace) -> str:
    if args.prefix or args.system:
        return os.path.join(os.path.abspath(args.prefix or SYSTEM), "share")
    named = os.environ.get("XDG_DATA_HOME", "")
    # The specification: what is no absolute path is as if it were not set.
    return named if os.path.isabs(named) else os.path.expanduser("~/.local/share")


def _tell(
    args: argparse.Namespace, placed: placing.Placed, command: list[str], lacks: UserError | None
) -> None:
    would = "would be " if args.dry_run else ""
    if not args.remove:
        words = " ".join(printable(part) for part in command)
        output.line(f"{'Would start' if args.dry_run else 'Starts'}: {words}")
    for verb, names in (
        ("written", placed.written), ("removed", placed.removed), ("as before", placed.unchanged)
    ):  # fmt: skip
        how = verb if verb == "as before" else would + verb
        for what, top in _PARTS:
            for name in names:
                if name.startswith(top):
                    _line(how, what, placed.root, name)
        if icons := sum(name.startswith("icons/") for name in names):
            many = say.count(icons, "picture", "pictures")
            _line(how, "icons", placed.root, "icons/hicolor", f": {many}")
    if not placed.written and not placed.unchanged and not placed.removed:
        output.line(f"Nothing of Torchkeeper's is in {printable(placed.root)}.")
    for name, why in placed.left.items():
        output.line(f"left: {printable(os.path.join(placed.root, name))}: {why}.")
    if lacks:
        output.line(f"The window does not open yet, and no pictures were made besides the SVGs: "
                    f"{printable(f'{lacks.what} {lacks.remedy}')}")  # fmt: skip
    done = placed.refreshed
    if done.ran:
        output.line(f"ran: {', '.join(done.ran)}")
    for name, why in done.failed.items():
        output.line(f"failed: {name}: {printable(why)}")
    if done.missing:
        late = "the desktop may show the change only after the next login."
        output.line(f"not installed: {', '.join(done.missing)}; {late}")
    if args.prefix and not args.remove and not _looked_into(placed.root):
        output.line(f"Desktops look there only where XDG_DATA_DIRS names {printable(placed.root)}.")


def _line(verb: str, what: str, root: str, name: str, more: str = "") -> None:
    output.line(f"{verb}: {what}, {printable(os.path.join(root, name))}{more}")


def _looked_into(root: str) -> bool:
    """Whether desktops look into a folder of shared data."""
    named = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.abspath(root) in map(os.path.abspath, filter(None, [home, *named.split(":")]))
