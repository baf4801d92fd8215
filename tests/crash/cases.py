"""The operations that are killed: what is there before, and what may be there after."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash.boxes import Caches, halve, spoil
from tests.crash.operations import Heard, run

#: Parameters that are paths below the stage.
PATHS = {"place", "into", "output", "bundle", "source", "signature"}
#: What has something broken in it from the start.
DAMAGED = {"half", "spoilt"}
#: What has it again when it is undone.
MENDED = {"imported into half", "imported into spoilt"}


@dataclass(frozen=True)
class Case:
    """One operation. before: the name of what is in the box. watched: the folder that is looked at,
    and opened again where it is a ``place``. moves: whether files keep their times, and folders get
    theirs back. free: whether what the operation was at may lie there until it is done again.
    plain: whether the file system has no files without a name. slow: whether it is a variation of
    another, which the normal run goes without.
    """

    name: str
    operation: str
    params: dict[str, Any]
    before: str
    moves: bool = False
    free: bool = False
    plain: bool = False
    slow: bool = False

    @property
    def watched(self) -> str:
        """See above."""
        return "box/out" if self.free else "box/place"


def _import(before: str, **how: Any) -> Case:
    params = {"bundle": "sources/mix.torchcache", "into": "box/place", **how}
    return Case(" ".join(["import into", before, *how]), "import", params, before)


def _copy(before: str, **how: Any) -> Case:
    params = {"source": "sources/mix", "into": "box/place", **how}
    return Case(" ".join(["copy into", before, *how]), "copy", params, before)


def _moves(name: str, operation: str, before: str, slow: bool = False, **params: Any) -> Case:
    return Case(name, operation, {"place": "box/place", **params}, before, moves=True, slow=slow)


def _writes(name: str, operation: str, before: str, plain: bool = False, **params: Any) -> Case:
    return Case(name, operation, params, before, free=True, plain=plain)


#: Of two of a list one goes; a kernel of several files, code of two.
SOME: dict[str, Any] = {"kinds": ["aoti_eager", "triton", "code"], "one_of": ["aoti_eager"]}
_BUNDLE = "box/out/a.torchcache"
_OUTPUT: dict[str, Any] = {"source": "sources/mix", "output": _BUNDLE}
_SIGNED: dict[str, Any] = {"bundle": _BUNDLE, "signature": "sources/signature", "digest": ""}

CASES = [
    _import("nothing"),
    _import("half"),
    _import("spoilt"),
    _copy("nothing"),
    _copy("half"),
    # As if they were so many that the whole file system is synced.
    _import("nothing", many=1),
    _copy("spoilt", many=1),
    _moves("purge everything", "purge", "mix"),
    _moves("purge some", "purge", "mix", **SOME),
    _moves("purge everything at once", "purge", "mix", now=True),
    _moves("purge some at once", "purge", "mix", now=True, **SOME),
    _moves("undo", "undo", "two purges"),
    _moves("undo of a list", "undo", "some purged"),
    _moves("purge of folders", "purge", "folders"),
    # As if they were so many that a second process takes half of them.
    _moves("purge by two", "purge", "many folders", kernels=1),
    _moves("undo of folders", "undo", "folders purged"),
    _moves("undo of half the folders", "undo", "half back"),
    _moves("undo of an import", "undo", "imported", slow=True),
    _moves("undo of an import into half", "undo", "imported into half", slow=True),
    _moves("undo of an import into spoilt", "undo", "imported into spoilt"),
    _moves("undo of that undo", "undo", "import undone", slow=True),
    _moves("empty", "empty", "two purges"),
    _writes("export", "export", "no bundle", replace=False, **_OUTPUT),
    _writes("export over another", "export", "a bundle", replace=True, **_OUTPUT),
    _writes("plain export", "export", "no bundle", plain=True, replace=False, **_OUTPUT),
    _writes("plain export over another", "export", "a bundle", plain=True, replace=True, **_OUTPUT),
    _writes("sign", "sign", "unsigned", **_SIGNED),
    _writes("plain sign", "sign", "unsigned", plain=True, **_SIGNED),
]


def each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """A test of each of some cases."""
    marked = [pytest.param(x, marks=[pytest.mark.slow] if x.slow else []) for x in cases]
    return pytest.mark.parametrize("case", marked, ids=lambda case: case.name)


def fillers(caches: Caches, sources: Path) -> dict[str, Callable[[Path], None]]:
    """How each state from which a case starts is made in an empty box."""

    def place(then: Callable[[Path], None]) -> Callable[[Path], None]:
        def fill(box: Path) -> None:
            caches.mix(box / "place")
            then(box / "place")

        return fill

    def folders(then: Callable[[Path], None], of: str = "ABC") -> Callable[[Path], None]:
        def fill(box: Path) -> None:
            caches.folders(box / "place", of)
            then(box / "place")

        return fill

    def imported(
        then: Callable[[Path], None], at_last: Callable[[Path], None] = lambda place: None
    ) -> Callable[[Path], None]:
        def fill(box: Path) -> None:
            place(then)(box)
            _copied(sources / "mix", box / "place")
            at_last(box / "place")

        return fill

    def out(name: str) -> Callable[[Path], None]:
        def fill(box: Path) -> None:
            (box / "out").mkdir()
            if name:
                (box / "out" / "a.torchcache").write_bytes((sources / name).read_bytes())

        return fill

    return {
        "nothing": lambda box: None,
        "mix": place(lambda place: None),
        "half": place(halve),
        "spoilt": place(spoil),
        "two purges": place(_purged_twice),
        "some purged": place(lambda place: _purge(place, **SOME)),
        "folders": folders(lambda place: None),
        "many folders": folders(lambda place: None, "ABCDEFGH"),
        "folders purged": folders(_purge),
        "half back": folders(_half_back),
        "imported": imported(shutil.rmtree),
        "imported into half": imported(halve),
        "imported into spoilt": imported(spoil),
        "import undone": imported(shutil.rmtree, _undone),
        "no bundle": out(""),
        "a bundle": out("small.torchcache"),
        "unsigned": out("mix.torchcache"),
    }


def _purge(place: Path, **params: Any) -> None:
    report = Heard()
    done = run("purge", {"place": str(place), **params}, report)
    assert done["done"]["counts"]["entries"] > 0, done
    assert report.left == []


def _purged_twice(place: Path) -> None:
    _purge(place, kinds=["fxgraph", "autotune"])
    _purge(place)


def _copied(source: Path, place: Path) -> None:
    report = Heard()
    done = run("copy", {"source": str(source), "into": str(place)}, report)
    assert done["done"]["receipt"], done
    assert report.left == []


def _undone(place: Path) -> None:
    assert run("undo", {"place": str(place)}, Heard())["done"]["undid"] == "import"


def _half_back(place: Path) -> None:
    """What can be put back by folders, and what only by files: a kernel's folder is there again."""
    _purge(place)
    (place / ("B" + 51 * "A")).mkdir()
