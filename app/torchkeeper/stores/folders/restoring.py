"""Putting back what a purge has moved to the trash, times included."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from torchkeeper.artifacts import aoti_eager
from torchkeeper.artifacts.entry import Problem, measured, tally
from torchkeeper.artifacts.layout import eager_library, locate
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import no_room
from torchkeeper.stores.folders import merging, receipts
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.merging import Listed
from torchkeeper.stores.folders.receipts import FILES, Folders, within
from torchkeeper.stores.items import File, Item, Left, allocated, is_group
from torchkeeper.stores.lists import MARK

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount, Tally
    from torchkeeper.stores.shapes import Done


# Items that go from a list and come back, while the others of the list stay (folders.trash).
#
# In the trash they are a list, too, of those that went. A list of which nothing stays is a file as
# any other.


def listed_of(item: Item) -> Listed | None:
    """What the list of an item says of it; None for what is in no list."""
    if item.kind != "aoti_eager" or not item.about:
        return None
    found: Listed = json.loads(item.about)["item"]
    return found


def is_list(path: str) -> bool:
    """Whether a file lists several entries."""
    return locate(path).kind == "aoti_eager"


def parted(root: str, items: Iterable[Item]) -> list[Item]:
    """Items that go from a folder, without the lists and libraries that others need that stay."""
    every = list(items)
    lists: dict[str, list[Listed]] = {}
    for item in every:
        if (one := listed_of(item)) is not None:
            lists.setdefault(list_of(item), []).append(one)
    kept: dict[str, set[str]] = {}
    for path, going in lists.items():
        try:
            there = merging.listed(os.path.join(root, path))
        except (OSError, Problem):
            continue  # it has changed, which is seen when it is to go
        left = Counter(map(_text, there)) - Counter(map(_text, going))
        if left:
            kept[path] = {path, *(_stem(path, json.loads(text)) for text in left)}
    return [_without(item, kept.get(list_of(item))) for item in every]


def _without(item: Item, kept: set[str] | None) -> Item:
    if not kept or listed_of(item) is None:
        return item
    files = [file for file in item.files if not {file.path, _begin(file.path)} & kept]
    return replace(item, files=files)


def _begin(path: str) -> str:
    above, _, name = path.rpartition("/")
    return f"{above}/{name.partition('.')[0]}"


def _stem(path: str, one: Listed) -> str:
    """What the paths of all files of an item's library begin with."""
    named = one.get("kernel_path")
    library = eager_library(path, named) if isinstance(named, str) else None
    return _begin(library or "")


def _text(one: Listed) -> str:
    return json.dumps(one, sort_keys=True)


def list_of(item: Item) -> str:
    """The path of the list that an item is of."""
    return item.path.partition(MARK)[0]


def goes_alone(item: Item) -> bool:
    """Whether an item is to be taken off its list, which stays: as ``parted`` has made it."""
    listed = list_of(item)
    return listed_of(item) is not None and all(file.path != listed for file in item.files)


def withdraw(root: str, item: Item, trash: str | None) -> bool:
    """Take an item off its list, if that is there; ``trash``: the folder that keeps it, in which
    it is first, so that it is never lost. Whether it was on the list, or there is none.

    Raises Problem as ``merging.take``, and OSError.
    """
    path = list_of(item)
    one = listed_of(item)
    assert one is not None
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
    all of them are there now; what has another for the same inputs there stays in the trash.

    Raises Problem as ``merging.take``, and OSError.
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


Back = Callable[[list[Item]], None]


@dataclass
class Purged:
    """What a purge or an undo did. bytes: allocated on the disk; receipt: for undo, or None."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    receipt: str | None = None
    locks: int = 0
    headers: int = 0
    unknown: int = 0

    def count(self, kinds: Iterable[str]) -> None:
        """As many more, of these kinds."""
        more = tally(kinds)
        self.entries += more["entries"]
        self.locks += more["locks"]
        self.headers += more["headers"]
        self.unknown += more["unknown"]

    @property
    def counts(self) -> Tally:
        return {"entries": self.entries, "locks": self.locks, "headers": self.headers,
                "unknown": self.unknown}  # fmt: skip

    @property
    def amount(self) -> Amount:
        return {**self.counts, "files": self.files, **measured(self.bytes, on_disk=True)}

    @property
    def nothing(self) -> bool:
        return not (self.files or self.entries or self.locks or self.headers or self.unknown)

    def to_json(self) -> Done:
        return cast("Done", {**self.amount, "receipt": self.receipt})


def restore(
    root: str, bin_: str, files: list[File], report: Report, left: Left, told: Back | None = None
) -> tuple[Purged, bool]:
    """Put the entries of a receipt back, as far as nothing has come into their place; what cannot
    be goes to ``left``, what is back to ``told``. Of a receipt that is empty then nothing stays.
    Returns what was done, and whether the disk was too full for all: no further entry is tried
    then. No link is followed, in the folder or its trash. Raises OSError where the folder is gone.
    """
    folders = Folders.of(receipts.said_by(bin_))
    done = Purged(receipt=os.path.basename(bin_))
    back: list[File] = []
    paths: set[str] = set()
    items = receipts.items_of(bin_, files)
    number, full, touched = 0, False, {""}
    with Inside(root) as inside:
        # Lists last: PyTorch takes none of one of which a library is missing.
        for item in sorted(items, key=lambda item: any(is_list(file.path) for file in item.files)):
            try:
                back += _restore_item(inside, bin_, item, folders, paths, left)
            except OSError as e:
                if no_room(e):
                    full = True
                    break
                left(item, Problem("cannot-restore", path=item.path, why=e.strerror))
            number += len(item.files)
            report.progress(number, len(files), "files")
        for path in paths:
            while (path := os.path.dirname(path)) and path not in touched:
                touched.add(path)
        if not receipts.trashed(bin_):
            # Also of what one that was cut off has put back.
            touched |= folders.said.keys()
            folders.restore_times(inside, touched)
            receipts.discard(bin_)
        if paths or not files:
            folders.restore_times(inside, touched)
    whole = [item for item in items if all(file.path in paths for file in item.files)]
    done.count(item.kind for item in whole)
    done.files = len(back)
    done.bytes = allocated(back)
    if told is not None:
        told(whole)
    return done, full


def _restore_item(
    inside: Inside, bin_: str, item: Item, folders: Folders, paths: set[str], left: Left
) -> list[File]:
    """Put an entry back, whose files come to ``paths``; returns those that were moved. Raises
    OSError, after taking it to the trash again as a whole.
    """
    back: list[File] = []

    def order(file: File) -> tuple[bool, bool]:
        # Last what says that the others are there.
        return is_list(file.path), is_group(item.kind, file.name)

    for file in sorted(item.files, key=order):
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
                _put_back(inside, bin_, file, folders)
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


def _put_back(inside: Inside, bin_: str, file: File, folders: Folders) -> None:
    folders.make(inside, os.path.dirname(file.path))
    # A link fails where a rename would replace what PyTorch has written there meanwhile.
    source, target = within(bin_, file.path), file.path
    try:
        inside.link(source, target)
    except FileExistsError as e:
        # An undo that was killed between the two steps left both names of one file.
        if not os.path.samestat(inside.stat(source), inside.stat(target)):
            raise Problem("path-taken", path=file.path) from e
        inside.unlink(source)
    except OSError:
        if inside.there(target):
            raise Problem("path-taken", path=file.path) from None
        inside.rename(source, target)  # a file system without hard links
    else:
        with contextlib.suppress(OSError):  # it is back, and has two names, as above
            inside.unlink(source)
