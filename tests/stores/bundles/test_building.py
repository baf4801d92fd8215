"""Which command built an object: what its name proves, what a bundle says of it, and the names
under which it is placed.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.snapshots import snapshot
from tests.stores.building import NATIVE, import_bundle, pairs, rename
from tests.stores.bundles.test_bundle import Left, described, edit
from torchkeeper.artifacts.code import key_of
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles import export
from torchkeeper.stores.bundles import export as exporting
from torchkeeper.stores.bundles.bundle import Bundle, Told
from torchkeeper.stores.bundles.parts import Makers, environment
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.importing import Imported
from torchkeeper.stores.folders.placing import compare
from torchkeeper.stores.items import Item
from torchkeeper.stores.offering import Named
from torchkeeper.stores.reader import Reader

FIRST, SECOND = (one["extra"] for one in NATIVE["commands"])


def written(place: Path, output: Path, makers: Makers | None) -> exporting.Exported:
    folder, ones = described(place)
    planned = export.plan(ones, folder, Report(), Left(), makers)
    done = exporting.export(ones, folder, str(output), Report(), Left(), makers=makers)
    assert planned.size == output.stat().st_size
    assert (planned.objects, planned.described) == (done.objects, done.described)
    return done


def manifest_of(bundle: Path) -> Any:
    with zipfile.ZipFile(bundle) as archive:
        return json.loads(archive.read("manifest.json"))


@pytest.fixture
def bundle(fixture_cache: Path, tmp_path: Path) -> Iterator[Bundle]:
    """Of a cache whose objects were all built by the first command."""
    rename(fixture_cache, FIRST)
    written(fixture_cache, tmp_path / "b.torchcache", environment(NATIVE))
    with Bundle(str(tmp_path / "b.torchcache"), Report()) as opened:
        yield opened


def test_a_name_proves_the_command(fixture_cache: Path, tmp_path: Path) -> None:
    rename(fixture_cache, SECOND)
    count = len(pairs(fixture_cache))
    assert count > 5
    one = pairs(fixture_cache)[0]
    other = one.name[:3] + "z" * 49
    one.rename(one.with_name(f"{other}.main.cpp"))
    one.with_suffix(".so").rename(one.with_name(f"{other}.main.so"))
    done = written(fixture_cache, tmp_path / "b.torchcache", environment(NATIVE))
    assert (done.objects, done.described) == (count, count - 1)
    said = manifest_of(tmp_path / "b.torchcache")
    assert said["native"].pop("commands") == [NATIVE["commands"][1]["portable"]]
    assert said["native"] == {k: v for k, v in NATIVE.items() if k not in ("threads", "commands")}
    built = [entry["built"] for entry in said["entries"] if "built" in entry]
    assert len(built) == count - 1
    assert all(one["source"][:-4] == one["object"][:-3] for one in built)
    assert "/home/me" not in json.dumps(said)


@pytest.mark.parametrize(
    "builders",
    [None, 3, {}, {**NATIVE, "commands": None}, {**NATIVE, "commands": []}, {**NATIVE, "torch": 1},
     {**NATIVE, "commands": [{"extra": FIRST}, 5, {"extra": "x", "portable": "y"}]}],
)  # fmt: skip
def test_without_its_command_nothing_is_said(
    builders: object, fixture_cache: Path, tmp_path: Path
) -> None:
    rename(fixture_cache, FIRST)
    done = written(fixture_cache, tmp_path / "b.torchcache", environment(builders))
    assert (done.objects > 0, done.described) == (True, 0)
    said = manifest_of(tmp_path / "b.torchcache")
    assert said["native"] is None
    assert not any("built" in entry for entry in said["entries"])


def test_a_bundle_of_a_bundle_says_the_same(bundle: Bundle, tmp_path: Path) -> None:
    assert bundle.native
    with Reader() as reader:
        batches = list(describe(bundle.items(), bundle, reader, Report()))
    again = str(tmp_path / "again.torchcache")
    ones = [one for batch in batches for one in batch]
    makers = Told(bundle)
    exporting.export(ones, bundle, again, Report(), Left(), makers=makers)
    assert Path(again).read_bytes() == Path(bundle.path).read_bytes()


def place(offered: Named, into: Path) -> tuple[Imported, Left]:
    left = Left()
    outcomes: list[str] = []

    def mark(_: Named, __: Item, ___: str, outcome: str, ____: Problem | None) -> None:
        outcomes.append(outcome)

    compare([offered], str(into), Report(), mark)
    done = import_bundle(offered, str(into), Report(), left)
    foretold = [outcomes.count(name) for name in ("new", "there")]
    assert foretold == [done.entries, done.exists]
    assert len(left.codes) == outcomes.count("left") + outcomes.count("differs")
    return done, left


def test_objects_get_their_new_names_and_nothing_else_does(
    bundle: Bundle, fixture_cache: Path, tmp_path: Path
) -> None:
    names = {}
    for item in bundle.items():
        if found := bundle.built_with(item):
            file, portable = found
            assert portable == NATIVE["commands"][0]["portable"]
            with bundle.open(file) as stream:
                names[item.path] = key_under(SECOND, stream.read())
    named = Named(bundle, names, {})
    assert sum(map(named.is_renamed, named.items())) == len(names) == len(pairs(fixture_cache))
    done, left = place(named, tmp_path / "t")
    assert left.codes == []
    rename(fixture_cache, SECOND)
    wanted = {p: a[1] for p, a in snapshot(fixture_cache, times=False).items() if a[1]}
    there = {p: a[1] for p, a in snapshot(tmp_path / "t", times=False).items() if a[1]}
    assert there == {p: c for p, c in wanted.items() if not p.endswith(".lock")}
    again, left = place(named, tmp_path / "t")
    assert (again.entries, again.exists, left.codes) == (0, done.entries, [])


def key_under(command: str, source: bytes) -> str:
    return key_of(source.decode(), command)


def test_what_must_not_be_loaded_is_left_out(bundle: Bundle, tmp_path: Path) -> None:
    out = next(iter(bundle.built))
    why = {out: Problem("object-torch", there="1", here="2")}
    named = Named(bundle, {out: "c" + "a" * 51}, why)
    done, left = place(named, tmp_path / "t")
    assert left.codes == ["object-torch"]
    assert done.entries == len(bundle.items()) - 1
    assert not (tmp_path / "t" / out).exists()


@pytest.mark.parametrize("key", ["", "x", "../../../../tmp/evil", "c/" + "a" * 50, "c" * 500, "é"])
def test_a_name_that_is_none_changes_nothing(key: str, bundle: Bundle, tmp_path: Path) -> None:
    named = Named(bundle, dict.fromkeys(bundle.built, key), {})
    assert named.items() == bundle.items()


def test_what_comes_to_one_name_is_there_or_kept(bundle: Bundle, tmp_path: Path) -> None:
    key = "c" + "a" * 51
    named = Named(bundle, dict.fromkeys(bundle.built, key), {})
    _, left = place(named, tmp_path / "t")
    # The sources of checks end otherwise.
    ends = {path.partition(".")[2] for path in bundle.built}
    assert left.codes == ["key-taken"] * (len(bundle.built) - len(ends))
    first = next(item for item in named.items() if named.is_renamed(item))
    for file in named.origin(first).files:
        with bundle.open(file) as stream:
            rest = file.name.partition(".")[2]
            assert (tmp_path / "t" / "aa" / f"{key}.{rest}").read_bytes() == stream.read()


def listed(item: Item) -> tuple[object, ...]:
    """An item, wherever in its bundle it is."""
    return item.identity, [file._replace(at=None) for file in item.files]


def test_what_a_manifest_says_of_other_files_is_not_said(bundle: Bundle, tmp_path: Path) -> None:
    def lie(said: Any) -> None:
        first, second, third, fourth, fifth = [e for e in said["entries"] if "built" in e][:5]
        first["built"]["source"], second["built"]["source"] = (
            second["built"]["source"], first["built"]["source"],
        )  # fmt: skip
        third["built"]["command"] = 1
        fourth["built"] = {"source": "manifest.json", "object": "/etc/passwd", "command": 0}
        fifth["built"]["source"], fifth["built"]["object"] = (
            fifth["built"]["object"], fifth["built"]["source"],
        )  # fmt: skip

    edit(Path(bundle.path), tmp_path / "lies.torchcache", lie)
    with Bundle(str(tmp_path / "lies.torchcache"), Report()) as lies:
        assert len(lies.built) == len(bundle.built) - 5
        assert list(map(listed, lies.items())) == list(map(listed, bundle.items()))
