"""What lies in the trash of a place: receipts, each of one purge, with the files that it moved; and
putting those back, times included.

The trash is ``<root>/.torchkeeper-trash/<receipt>/files/…`` with the files under their own paths,
so that moving is a rename and keeps times; ``receipt.json`` beside them is written first and tells
the folders' times. What is undone is what lies there, not what a receipt claims; what is removed is
what a purge has brought. No link is followed on the way to a receipt, or in it (folders.inside).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import secrets
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from torchkeeper.artifacts import aoti_eager, triton
from torchkeeper.artifacts.entry import COUNTS, Problem, measured, tally
from torchkeeper.artifacts.layout import TRASH, among, eager_library, kernel_folder, locate
from torchkeeper.artifacts.report import Quiet, Report
from torchkeeper.stores.atomic import no_room
from torchkeeper.stores.folders import merging
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.walking import Root, Walk
from torchkeeper.stores.items import (
    File,
    Item,
    OnDisk,
    Packed,
    amount_of,
    files_in,
    in_order,
    is_group,
    located,
    packed,
    taken_apart,
)

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount, Tally
    from torchkeeper.stores.items import Left
    from torchkeeper.stores.shapes import Done, Last, ReceiptRow, Trash

_RECEIPT = "receipt.json"
#: Of a receipt: a folder has a list of three numbers.
_MOST_FOLDERS, _MOST_NUMBERS = 500_000, 2_000_000
FILES = "files"
#: Of a receipt of an import: what that has placed (folders.placed).
PLACED = "placed.jsonl"
#: What the name of a receipt begins with that is being removed.
_REMOVING = "removing-"
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}-[0-9a-f]{4}")
Back = Callable[[list[Item]], None]


def new_name() -> str:
    now = time.time()
    # To the microsecond: names sort by time, and the latest is what undo takes.
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    return f"{stamp}.{int(now % 1 * 1e6):06d}-{secrets.token_hex(2)}"


def at(root: str, name: object) -> str | None:
    """The folder of a receipt by its name; None for what is no such name."""
    named = isinstance(name, str) and _NAME.fullmatch(name)
    return os.path.join(root, TRASH, str(name)) if named else None


def make(
    root: str, name: str, items: Iterable[Item], placed: Mapping[str, object] | None = None
) -> str:
    """Make the receipt of a purge of items, before anything is moved; returns its folder. placed:
    how much came, where it is that of an import, which leaves folders the times that they have.
    Raises Problem("trash-not-folder" | "trash-foreign"), and OSError.
    """
    above, folders, others = among(root), set[str](), dict[str, None]()
    own = _look(root, "") if placed is None else ""
    for item in items:
        folders |= item.folders
        if not isinstance(item, Packed):  # that is a kernel's, all of it
            others |= {x[0]: None for x in item.files if not _known(x[0], above)}
    bin_ = os.path.join(root, TRASH, name)
    try:
        with Inside(root) as inside:
            with contextlib.suppress(FileExistsError):
                inside.make_folder(TRASH, 0o700)
            if not inside.is_folder(TRASH):
                raise Problem("trash-not-folder", place=root)
            if inside.stat(TRASH).st_uid not in _trusted(root):
                raise Problem("trash-foreign", place=root, file=os.path.join(root, TRASH))
            inside.make_folder(f"{TRASH}/{name}")
            if placed is None:  # most imports put nothing there
                inside.make_folder(f"{TRASH}/{name}/{FILES}")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            handle = inside.opened(f"{TRASH}/{name}/{_RECEIPT}", flags, 0o666)
            with os.fdopen(handle, "w", encoding="ascii") as out:
                out.write(f'{{"version": 1, "made": {time.time()}, "folders": {{{own}')
                # One after the other: all at once would take much memory.
                for folder in with_above(folders) - {""}:
                    if said := _look(root, folder):
                        out.write(f", {said}" if own else said)
                        own = said
                came = f', "placed": {json.dumps(placed)}' if placed else ""
                out.write(f'}}, "others": {json.dumps([*others])}{came}}}')
                out.flush()
                os.fsync(out.fileno())
    except OSError:
        discard(bin_)
        raise
    return bin_


def _look(root: str, folder: str) -> str:
    """Mode and times of a folder, as a receipt has them; "" of what is not there."""
    with contextlib.suppress(OSError):
        found = os.lstat(os.path.join(root, folder))
        mode = stat.S_IMODE(found.st_mode)
        return f"{json.dumps(folder)}: [{mode}, {found.st_atime_ns}, {found.st_mtime_ns}]"
    return ""


def with_above(folders: Iterable[str]) -> set[str]:
    """Some folders, and those above them; the place itself is ""."""
    found = {""}
    for folder in folders:
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def discard(bin_: str) -> str | None:
    """Remove a receipt with all that is left of it, and the trash with the last; why not all is
    gone, or None. What is left then is no receipt any more: nothing is ever put back in part.
    """
    root, name = root_of(bin_), os.path.basename(bin_)
    try:
        with Inside(root) as inside:
            if inside.is_folder(f"{TRASH}/{name}"):
                inside.rename(f"{TRASH}/{name}", f"{TRASH}/{_REMOVING}{name}")
    except FileNotFoundError:
        pass
    except OSError as e:
        return e.strerror
    return clear(root)


def clear(root: str, others: list[str] | None = None) -> str | None:
    """Remove receipts that were to go, and the trash if it is empty; why some stay, or None. To
    ``others`` come the paths of what somebody else has put there, which stays.
    """
    why: str | None = None
    with contextlib.suppress(OSError), Inside(root) as inside:
        for name in _in(inside):
            if name.startswith(_REMOVING):
                try:
                    bin_ = os.path.join(root, TRASH, name)
                    kept = inside.remove_tree(f"{TRASH}/{name}", purged(bin_))
                    (others if others is not None else []).extend(kept)
                except OSError as e:
                    why = e.strerror or str(e)
        inside.remove_folder(TRASH)
    return why


def root_of(bin_: str) -> str:
    return os.path.dirname(os.path.dirname(bin_))


def lies(bin_: str, *part: str) -> bool:
    """Whether a receipt, or a part, is there, with no link in place of it or on the way."""
    with contextlib.suppress(OSError), Inside(root_of(bin_)) as inside:
        return inside.is_folder("/".join([within(bin_), *part]))
    return False


def within(bin_: str, path: str = "") -> str:
    """The path of a receipt below the folder it is of, or of one of its files."""
    here = f"{TRASH}/{os.path.basename(bin_)}"
    return f"{here}/{FILES}/{path}" if path else here


def folders_of(root: str) -> list[str]:
    """The folders of all receipts, oldest first."""
    try:
        with Inside(root) as inside:
            names = [name for name in _in(inside) if not name.startswith(_REMOVING)]
    except OSError:
        return []
    return [os.path.join(root, TRASH, name) for name in names]


def _trusted(root: str) -> set[int]:
    """The users whose trash is believed: whoever else may add to a folder, as to one under /tmp,
    could otherwise have his files put anywhere in it.
    """
    return {os.geteuid(), 0, os.lstat(root).st_uid}


def _in(inside: Inside) -> list[str]:
    """The names of the folders in a trash that are believed."""
    try:
        trusted = _trusted(inside.root)
        if inside.stat(TRASH).st_uid not in trusted:
            return []
        handle = inside.opened(TRASH, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return []
    try:
        with os.scandir(handle) as entries:
            return sorted(
                e.name
                for e in entries
                # Nobody else's folder has such a name; one of a user's own stays where it is.
                if _NAME.fullmatch(e.name.removeprefix(_REMOVING))
                and e.is_dir(follow_symlinks=False)
                and e.stat(follow_symlinks=False).st_uid in trusted
            )
    finally:
        os.close(handle)


def _known(path: str, above: str) -> bool:
    """Whether the path of a file alone tells that a known writer wrote it."""
    folder, _, name = path.rpartition("/")
    kernel = kernel_folder(folder) is not None and triton.is_file(name)
    return kernel or locate(path, above).kind != "unknown"


def purged(bin_: str) -> Callable[[str], bool]:
    """Tells whether a purge has brought a file of a receipt, by its path below the place: what no
    known writer wrote is named in the receipt, if no earlier version wrote that.
    """
    base, said, above = f"{within(bin_)}/", said_by(bin_), among(root_of(bin_))
    others = said.get("others", None if said else [])
    named = frozenset(others) if isinstance(others, list) else None

    def brought(path: str) -> bool:
        top, _, own = path.removeprefix(base).partition("/")
        if top != FILES:
            return top in (_RECEIPT, PLACED)
        return named is None or own in named or _known(own, above)

    return brought


def trashed(bin_: str, report: Report | None = None) -> list[Item]:
    """What one receipt holds, as the entries that they were, by the paths they had. ``report``
    hears how many files were looked at.
    """
    if not lies(bin_, FILES):
        return []
    return items_in(os.path.join(bin_, FILES), among(root_of(bin_)), report or Report())


def items_in(place: str, above: str, report: Report) -> list[Item]:
    """What lies in a folder, as entries by their paths; above: as of ``located``."""
    items, rest, looked = list[Item](), list[File](), 0
    with contextlib.suppress(OSError):
        for found in Walk(place, Quiet(report)).folders():
            looked += len(found.names)
            report.progress(looked, None, "files")
            kernel = found.kernel()
            items += packed(kernel or ())
            rest += found.files if kernel is None else ()
    items = in_order([*items, *located(rest, above)])
    try:
        source = Root(place)
    except Problem:
        return items
    return taken_apart(items, files_in(rest), source)


def count(bin_: str) -> int:
    """How many files a receipt holds."""
    with contextlib.suppress(OSError), Inside(root_of(bin_)) as inside:
        return sum(len(names) for _, _, names, _ in inside.walk(f"{within(bin_)}/{FILES}"))
    return 0


def is_import(bin_: str) -> bool:
    """Whether a receipt is that of an import: what undoes it takes away what that has placed."""
    with contextlib.suppress(OSError), Inside(root_of(bin_)) as inside:
        return inside.is_file(f"{within(bin_)}/{PLACED}")
    return False


def in_trash(place: str) -> list[ReceiptRow]:
    """What lies in the trash of a place, oldest first, and what imports have placed."""
    found: list[ReceiptRow] = []
    for bin_ in folders_of(Root(place).root):
        said, lies = said_by(bin_), amount_of(trashed(bin_))
        row: ReceiptRow = {"receipt": os.path.basename(bin_), "made": made(said), **lies,
                           "placed": None}  # fmt: skip
        if is_import(bin_):
            row["placed"] = _amount(said.get("placed"))
        found.append(row)
    return found


def _amount(said: object) -> Amount:
    """How much a receipt says that an import has placed."""
    known = said if isinstance(said, dict) else {}

    def number(name: str) -> int:
        value = known.get(name)
        return value if type(value) is int and 0 <= value < 1 << 63 else 0

    amount: Amount = {**tally(()), "files": number("files"),
                      **measured(number("bytes"), on_disk=True)}  # fmt: skip
    for name in COUNTS:
        amount[name] = number(name)
    return amount


def made(said: Mapping[str, object]) -> float | None:
    """When a receipt or a journal says that it was made, if that makes sense."""
    at = said.get("made")
    return float(at) if isinstance(at, (int, float)) and 0 < at < 1e11 else None


def totals(place: str) -> Trash:
    """What lies in the trash of a folder; ``last``: of that, what undo puts back, if anything."""
    every_row = in_trash(place)
    found = [one for one in every_row if not one["placed"] or one["files"]]
    last = next((x for x in reversed(every_row)
                 if x["placed"] or x["files"] or any(map(x.get, COUNTS))), None)  # fmt: skip
    every: Tally = tally(())
    for one in found:
        for name in COUNTS:
            every[name] += one[name]
    undone: Last | None = None
    if last is not None:
        amount = last["placed"] or last
        told = {name: amount.get(name) for name in ("bytes", "disk_bytes", *COUNTS)}
        undid = "import" if last["placed"] else "purge"
        undone = cast("Last", {"undid": undid, "made": last["made"], **told})
    files = sum(one["files"] for one in found)
    size = measured(sum(one["bytes"] for one in found), on_disk=True)
    return {"receipts": len(found), **every, "files": files, **size, "last": undone}


def said_by(bin_: str) -> Mapping[str, object]:
    """What a receipt says; nothing for what makes no sense."""
    try:
        with Inside(root_of(bin_)) as inside:
            handle = inside.opened(f"{within(bin_)}/{_RECEIPT}", os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return {}
            data = stream.read(min(status.st_size, 64 << 20))
        # A stranger's may be a bomb, all brackets: each takes a hundred bytes of memory.
        if data.count(b"[") + data.count(b"{") > _MOST_FOLDERS or data.count(b",") > _MOST_NUMBERS:
            return {}
        said = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


@dataclass
class Folders:
    """The folders of a receipt: mode and times in nanoseconds, by path."""

    said: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, receipt: Mapping[str, object]) -> Folders:
        said = receipt.get("folders")
        kept = {}
        for path, values in said.items() if isinstance(said, dict) else ():
            if path and (path.startswith("/") or {"", ".", ".."} & set(path.split("/"))):
                continue
            numbers = isinstance(values, list) and len(values) == 3
            if numbers and all(isinstance(v, int) and 0 <= v < 1 << 64 for v in values):
                kept[path] = values
        return cls(kept)

    def make(self, inside: Inside, folder: str) -> None:
        """Make a folder again, with its mode; links are refused."""
        if not folder:
            return
        self.make(inside, os.path.dirname(folder))
        try:
            inside.make_folder(folder)
        except FileExistsError:
            if stat.S_ISLNK(inside.stat(folder).st_mode):
                raise Problem("link-in-place", path=os.path.join(inside.root, folder)) from None
        else:
            self._have_mode(inside, folder, folder)

    def move_back(self, inside: Inside, bin_: str, items: list[Item], report: Report) -> set[str]:
        """Put folders of entries of a receipt back by one rename each, the outermost that have
        nothing in their place; returns those that are back, with all that are in them. ``report``
        hears of them as of the files that are about in as many.
        """
        back: set[str] = set()
        files = sum(item.count for item in items)
        found = sorted(with_above(x for item in items for x in item.folders) - {""})
        # One that its owner may not change cannot be moved once it has its mode.
        if any(mode & 0o700 != 0o700 for mode, _, _ in self.said.values()):
            return back
        with contextlib.suppress(OSError):
            for folder in found:
                self._have_mode(inside, within(bin_, folder), folder)
            for number, folder in enumerate(found):
                report.progress(files * number // len(found), files, "files")
                if folder.rpartition("/")[0] in back or self._moved_back(inside, bin_, folder):
                    back.add(folder)
        return back

    def _moved_back(self, inside: Inside, bin_: str, folder: str) -> bool:
        with contextlib.suppress(OSError):
            if not inside.there(folder):
                inside.rename(within(bin_, folder), folder)
                return True
        return False

    def _have_mode(self, inside: Inside, path: str, folder: str) -> None:
        if folder in self.said:
            mode = self.said[folder][0] & 0o7777
            if stat.S_IMODE(inside.stat(path).st_mode) != mode:
                inside.set_mode(path, mode)

    def prune(self, inside: Inside) -> None:
        for folder in sorted(filter(None, self.said), key=lambda path: -path.count("/")):
            with contextlib.suppress(OSError):
                inside.remove_folder(folder)

    def restore_times(self, inside: Inside, folders: set[str]) -> set[str]:
        """Give folders the times they had, the deepest first; returns where that failed."""
        failed: set[str] = set()
        for folder in sorted(folders & self.said.keys(), key=lambda x: -x.count("/") - bool(x)):
            try:
                inside.set_times(folder, (self.said[folder][1], self.said[folder][2]))
            except OSError:
                failed.add(folder)
        return failed


# Items that go from a list and come back, while the others of the list stay (folders.trash). In the
# trash they are a list, too. A list of which nothing stays is a file as any other.


def listed_of(item: Item) -> merging.Listed | None:
    """What the list of an item says of it; None for what is in no list."""
    if item.kind != "aoti_eager" or not item.about:
        return None
    found: merging.Listed = json.loads(item.about)["item"]
    return found


def is_list(path: str) -> bool:
    return "aoti_eager/" in path and locate(path).kind == "aoti_eager"


def parted(root: str, items: Iterable[Item]) -> list[Item]:
    """Items that go from a folder, without the lists and libraries that others need that stay."""
    every = list(items)
    lists: dict[str, list[merging.Listed]] = {}
    for item in every:
        if (one := listed_of(item)) is not None:
            lists.setdefault(item.list_path, []).append(one)
    kept: dict[str, set[str]] = {}
    for path, going in lists.items():
        try:
            there = merging.listed(os.path.join(root, path))
        except (OSError, Problem):
            continue  # it has changed, which is seen when it is to go
        text = functools.partial(json.dumps, sort_keys=True)
        left = Counter(map(text, there)) - Counter(map(text, going))
        if left:
            kept[path] = {path, *(_stem(path, json.loads(text)) for text in left)}
    for number, item in enumerate(every):
        if listed_of(item) is not None and (stays := kept.get(item.list_path)):
            files = [file for file in item.files if not {file.path, _begin(file.path)} & stays]
            every[number] = replace(item, files=files)
    return every


def _begin(path: str) -> str:
    above, _, name = path.rpartition("/")
    return f"{above}/{name.partition('.')[0]}"


def _stem(path: str, one: merging.Listed) -> str:
    """What the paths of all files of an item's library begin with."""
    named = one.get("kernel_path")
    library = eager_library(path, named) if isinstance(named, str) else None
    return _begin(library or "")


def goes_alone(item: Item) -> bool:
    """Whether an item is to be taken off its list, which stays: as ``parted`` has made it."""
    return listed_of(item) is not None and all(x.path != item.list_path for x in item.files)


def withdraw(root: str, item: Item, trash: str | None) -> bool:
    """Take an item off its list, if that is there; ``trash``: the folder that keeps it, in which it
    is first, so that it is never lost. Whether it was on the list, or there is none. Raises Problem
    as ``merging.take``, and OSError.
    """
    path, one = item.list_path, listed_of(item)
    here = os.path.join(root, path)
    if not os.path.lexists(here):
        return True
    found = [other for other in merging.listed(here) if other == one]
    if found and trash is not None:
        aside = os.path.join(trash, path)
        os.makedirs(os.path.dirname(aside), exist_ok=True)
        merging.write(aside, [*merging.listed(aside), *found])
    return bool(found and merging.take(here, found))


def give_back(root: str, path: str, trash: str) -> bool:
    """Put the items of a list in the trash into the list of a folder, behind what is there. Whether
    all of them are there now; what has another for the same inputs there stays in the trash. Raises
    Problem as ``merging.take``, and OSError.
    """
    aside = os.path.join(trash, path)
    waiting = merging.listed(aside)
    here = os.path.join(root, path)
    there = merging.listed(here)
    taken = {aoti_eager.digest(one) for one in there}
    back = [one for one in waiting if aoti_eager.digest(one) not in taken]
    merging.take(here, [], back)
    left = [one for one in waiting if one not in back and one not in there]
    if left:
        merging.write(aside, left)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
    return not left


@dataclass
class Purged:
    """What a purge or an undo did. bytes: allocated on the disk; receipt: for undo, or None.
    undid: what an undo has undone, "purge" or "import".
    """

    counts: Tally = field(default_factory=lambda: tally(()))
    files: int = 0
    bytes: int = 0
    receipt: str | None = None
    undid: str = "purge"

    @property
    def entries(self) -> int:
        return self.counts["entries"]

    @property
    def amount(self) -> Amount:
        return {**self.counts, "files": self.files, **measured(self.bytes, on_disk=True)}

    @property
    def nothing(self) -> bool:
        return not (self.files or any(self.counts.values()))

    def to_json(self) -> Done:
        return cast("Done", {**self.amount, "receipt": self.receipt})


def restore(
    root: str, bin_: str, items: list[Item], report: Report, left: Left, told: Back | None = None
) -> tuple[Purged, bool]:
    """Put the entries of a receipt back, as far as nothing has come into their place; what cannot
    be goes to ``left``, what is back to ``told``. Of a receipt that is empty then nothing stays.
    Returns what was done, and whether the disk was too full for all: no further entry is tried
    then. Raises OSError where the folder is gone.
    """
    folders = Folders.of(said_by(bin_))
    done = Purged(receipt=os.path.basename(bin_))
    total, full, back = sum(item.count for item in items), False, OnDisk()
    with Inside(root) as inside:
        whole = folders.move_back(inside, bin_, items, report)
        # Of entries that have not come whole with their folders: which of their files are back.
        paths, rest, moved, touched = set[str](), list[Item](), list[Item](), set[str]()
        for item in items:
            if not item.about and item.folders <= whole:
                moved.append(item)
                touched |= item.folders
                continue
            came = [file for file in item.files if file[0].rpartition("/")[0] in whole]
            back.add(file for file in came if file[0] not in paths)
            paths.update([file[0] for file in came])
            rest.append(item)
        back.count(moved)
        number = back.files
        # Lists last: PyTorch takes none of one of which a library is missing.
        for item in sorted(rest, key=lambda item: any(is_list(file.path) for file in item.files)):
            if paths.issuperset([file[0] for file in item.files]):
                continue
            try:
                back.add(_restore_item(inside, bin_, item, folders, paths, left))
            except OSError as e:
                if no_room(e):
                    full = True
                    break
                left(item, Problem("cannot-restore", path=item.path, why=e.strerror))
            number += item.count
            report.progress(number, total, "files")
        touched = with_above(touched.union(path.rpartition("/")[0] for path in paths))
        if not count(bin_):
            # Also of what one that was cut off has put back.
            touched = {"", *folders.restore_times(inside, touched | folders.said.keys())}
            discard(bin_)
        if back.files or paths or not items:
            folders.restore_times(inside, touched)
    stays = {id(x) for x in rest if not paths.issuperset([file[0] for file in x.files])}
    items = [item for item in items if id(item) not in stays]
    done.counts, done.files = tally(item.kind for item in items), back.files
    done.bytes = back.bytes
    if told is not None:
        told(items)
    return done, full


def _restore_item(
    inside: Inside, bin_: str, item: Item, folders: Folders, paths: set[str], left: Left
) -> list[File]:
    """Put an entry back, whose files come to ``paths``; returns those that were moved. Raises
    OSError, after taking it to the trash again as a whole.
    """
    back: list[File] = []

    # Last what says that the others are there.
    for file in sorted(item.files, key=lambda x: (is_list(x.path), is_group(item.kind, x.name))):
        if file.path in paths:
            continue  # it came with another entry that has it, too
        try:
            merged = is_list(file.path) and inside.there(file.path)
            if merged:
                if not inside.there(within(bin_, file.path)):
                    raise Problem("link-in-place", path=file.path)
                if not give_back(inside.root, file.path, os.path.join(bin_, FILES)):
                    raise Problem("path-taken", path=file.path)
            else:
                put_back(inside, bin_, file.path, folders)
        except Problem as problem:
            left(item, problem)
            continue
        except OSError:
            for one in back:
                with contextlib.suppress(OSError):
                    inside.rename(one.path, within(bin_, one.path))
                    paths.remove(one.path)
            raise
        if not merged:
            back.append(file)
        paths.add(file.path)
    return back


def put_back(inside: Inside, bin_: str, target: str, folders: Folders) -> None:
    """Put a file, or a folder, of a receipt back. Raises Problem("path-taken" | "link-in-place"),
    and OSError.
    """
    folders.make(inside, os.path.dirname(target))
    # A link fails where a rename would replace what PyTorch has written there meanwhile.
    source = within(bin_, target)
    try:
        inside.link(source, target)
    except FileExistsError as e:
        # An undo that was killed between the two steps left both names of one file.
        if not os.path.samestat(inside.stat(source), inside.stat(target)):
            raise Problem("path-taken", path=target) from e
        inside.unlink(source)
    except OSError:
        if inside.there(target):
            raise Problem("path-taken", path=target) from None
        inside.rename(source, target)  # a file system without hard links
    else:
        with contextlib.suppress(OSError):  # it is back, and has two names, as above
            inside.unlink(source)
