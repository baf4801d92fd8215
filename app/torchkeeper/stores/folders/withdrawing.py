"""Items that go from a list and come back, while the others of the list stay (folders.trash).

In the trash they are a list, too, of those that went. A list of which nothing stays is a file as
any other.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from torchkeeper.artifacts import aoti_eager
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import eager_library, locate
from torchkeeper.stores.folders import merging
from torchkeeper.stores.folders.merging import Listed
from torchkeeper.stores.items import Item
from torchkeeper.stores.lists import MARK


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
    """Items that are to go from a folder, without what others need that stay: their list, and a
    library that two of it name.
    """
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
