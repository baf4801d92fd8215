"""Eager kernels between places: each on its own in a bundle, and in PyTorch's list in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.conftest import RunPlain
from tests.sampling import sampled
from tests.snapshots import snapshot
from tests.stores.building import NATIVE, import_bundle
from tests.stores.bundles.test_bundle import Left, described, edit, make, rewrite
from tests.stores.test_compare import look
from torchkeeper.artifacts.aoti_eager import digest
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.stores.bundles import export as export_plan
from torchkeeper.stores.bundles.bundle import Bundle, Told, claims
from torchkeeper.stores.bundles.export import export
from torchkeeper.stores.bundles.parts import environment
from torchkeeper.stores.copying import copy
from torchkeeper.stores.folders import merging
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.importing import Imported
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader
from torchkeeper.verdict import machine

LISTS = Path("aoti_eager/aten/cpu")
ABS = LISTS / "abs.json"
Listed = dict[str, Any]


@pytest.fixture
def place(other_kinds: Path, tmp_path: Path) -> Path:
    """Three eager kernels, two of them in one list, and nothing else."""
    source = other_kinds / "cache" / "aoti_eager"
    shutil.copytree(source, tmp_path / "place" / "aoti_eager")
    return tmp_path / "place"


@pytest.fixture
def bundle(place: Path, tmp_path: Path) -> Path:
    make(place, tmp_path / "good.torchcache")
    return tmp_path / "good.torchcache"


def entries(place: Path) -> list[Entry]:
    found = [one.entry for one in described(place)[1] if one.entry.kind == "aoti_eager"]
    assert not [one for one in found if one.problem]
    return found


def about(found: list[Entry]) -> list[tuple[str, str, str | None, str | None]]:
    return sorted((one.path, one.key, one.name, one.sha256) for one in found)


def listed(place: Path) -> list[Listed]:
    items: list[Listed] = json.loads((place / ABS).read_text())
    return items


def bring(file: Path, into: Path, report: Report | None = None) -> tuple[Imported, Left]:
    """An import and what was left; a comparison before has said the same, and done nothing."""
    before = snapshot(into) if into.exists() else None
    [foretold], marks = look(into, file)
    assert (snapshot(into) if into.exists() else None) == before
    left = Left()
    with Bundle(str(file), Report()) as bundle:
        done = import_bundle(bundle, str(into), report or Report(), left)
    counts = foretold.whole
    assert (counts.new.entries, counts.there.entries) == (done.entries, done.exists)
    assert marks.codes == left.codes
    assert set(left.codes) <= set(CATALOGUE)
    return done, left


def with_items(place: Path, target: Path, *items: Listed) -> Path:
    """A folder with the libraries of a place and a list of these items of abs."""
    shutil.copytree(place, target)
    (target / LISTS / "add.Tensor.json").unlink()
    (target / ABS).write_text(json.dumps(items))
    return target


def test_a_bundle_brings_them_to_an_empty_folder(place: Path, bundle: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    done, left = bring(bundle, target)
    assert (done.entries, left.codes) == (3, [])
    assert about(entries(target)) == about(entries(place))
    assert listed(target) == listed(place)
    with Bundle(str(bundle), Report()) as opened, Reader() as reader:
        inside = [one for some in opened.read(opened.items(), reader, Report()) for one in some]
        assert opened.refused == []
        assert about([one.entry for one in inside]) == about(entries(place))
        # Its library tells the CPU, and nobody the torch.
        assert {one.entry.torch for one in inside} == {None}
        assert all("avx" in str(one.facts["instructions"]) for one in inside)
    again, _ = bring(bundle, target)
    assert (again.entries, again.exists) == (0, 3)
    make(target, tmp_path / "again.torchcache")
    assert (tmp_path / "again.torchcache").read_bytes() == bundle.read_bytes()
    folder, ones = described(place)
    assert export_plan.plan(ones, folder, Report(), Left()).size == bundle.stat().st_size


def claimed(place: Path, output: Path, native: dict[str, Any] | None) -> None:
    folder, ones = described(place)
    export(ones, folder, str(output), Report(), Left(), makers=environment(native))


def test_a_bundle_says_in_whose_cache_they_were(place: Path, tmp_path: Path) -> None:
    """And one that is made of it says the same; none of it, where it cannot be so."""
    native = {**NATIVE, "cpu_flags": machine.cpu_flags()}
    first, second = tmp_path / "1.torchcache", tmp_path / "2.torchcache"
    claimed(place, first, native)
    with Bundle(str(first), Report()) as opened, Reader() as reader:
        said = claims(opened)["native"]
        assert said is not None and said["torch"] == NATIVE["torch"]
        assert (claims(opened)["objects"], claims(opened)["built"]) == (3, 3)
        assert {item.torch for item in opened.items()} == {NATIVE["torch"]}
        assert [opened.built_with(item) for item in opened.items()] == [None] * 3
        ones = [one for some in opened.read(opened.items(), reader, Report()) for one in some]
        assert {one.entry.torch for one in ones} == {NATIVE["torch"]}
        export(ones, opened, str(second), Report(), Left(), makers=Told(opened))
    assert second.read_bytes() == first.read_bytes()
    claimed(place, second, {**native, "cpu_flags": ["sse2"]})
    with Bundle(str(second), Report()) as opened:
        # They record more than such a CPU can.
        told = [opened.claim(item) for item in opened.items()]
        assert [one and (one["torch"], one["cpu_flags"]) for one in told] == [
            (NATIVE["torch"], None)
        ] * 3

    def change(said: Any) -> None:
        builts = [entry["built"] for entry in said["entries"]]
        builts[0]["object"] = builts[1]["object"]
        builts[1]["source"] = builts[2]["source"]
        builts[2]["command"] = 0

    edit(first, second, change)
    with Bundle(str(second), Report()) as opened:
        assert opened.refused == []
        assert [opened.claim(item) for item in opened.items()] == [None] * 3


@pytest.mark.torch
@pytest.mark.slow
def test_pytorch_finds_what_a_bundle_brought(
    other_kinds_now: Path, tmp_path: Path, run_plain: RunPlain
) -> None:
    """In a fresh process, with nothing of ours: the list is returned, and the operator is run."""
    source, bundle = other_kinds_now / "cache" / "aoti_eager", tmp_path / "now.torchcache"
    shutil.copytree(source, tmp_path / "now" / "aoti_eager")
    make(tmp_path / "now", bundle)
    bring(bundle, tmp_path / "target")
    told = run_plain(tmp_path / "target", "4", "8", script="eager_op.py")
    assert told == {"items": [3], "right": True, "compiled": []}


def test_a_folder_of_vllm_has_them_where_its_pytorch_looks(bundle: Path, tmp_path: Path) -> None:
    rank = tmp_path / "rank_0_0"
    (rank / "inductor_cache").mkdir(parents=True)
    bring(bundle, rank)
    assert (rank / "inductor_cache" / ABS).exists()
    assert [one.path.partition("/")[0] for one in entries(rank)] == ["inductor_cache"] * 3
    made = tmp_path / "again.torchcache"
    make(rank, made)
    assert made.read_bytes() == bundle.read_bytes()


@pytest.mark.parametrize("there", ["none", "first", "second", "both"])
def test_what_is_in_the_list_stays(there: str, place: Path, tmp_path: Path) -> None:
    """From folder to folder: what is new comes behind it, and nothing is in it twice."""
    first, second = listed(place)
    items = {"none": [], "first": [first], "second": [second], "both": [first, second]}[there]
    target = with_items(place, tmp_path / "target", *items)
    before = (target / ABS).read_bytes()
    folder, ones = described(place)
    left = Left()
    done = copy(folder, ones, str(target), Report(), left)
    codes = Counter(left.codes)
    assert set(codes) == {"kind-not-portable", "part-of-artifact"}
    assert (done.entries, done.exists) == (3 - len(items), len(items))
    assert listed(target) == [*items, *(one for one in (first, second) if one not in items)]
    assert ((target / ABS).read_bytes() == before) == (there == "both")


def test_an_item_whose_library_is_gone_makes_way(place: Path, bundle: Path, tmp_path: Path) -> None:
    first, second = listed(place)
    stale = {**first, "kernel_path": first["kernel_path"].replace(".wrapper.so", ".old.so")}
    target = with_items(place, tmp_path / "target", stale, second)
    # The second would never be found beside it.
    assert bring(bundle, target)[1].codes == []
    assert listed(target) == [second, first]


def test_another_kernel_for_the_same_inputs_is_kept(
    place: Path, bundle: Path, tmp_path: Path
) -> None:
    first, second = listed(place)
    own = {**first, "kernel_path": second["kernel_path"]}
    target = with_items(place, tmp_path / "target", own)
    assert bring(bundle, target)[1].codes == ["key-taken"]
    assert listed(target) == [own, second]


def test_a_list_of_which_pytorch_would_take_nothing_is_told(
    place: Path, bundle: Path, tmp_path: Path
) -> None:
    _, second = listed(place)
    gone = {**second, "kernel_path": "lib/gone.so", "meta_info": [{"arg_order": 0}]}
    target = with_items(place, tmp_path / "target", gone)
    before = (target / ABS).read_bytes()
    assert bring(bundle, target)[1].codes == ["list-spoilt"] * 2
    assert (target / ABS).read_bytes() == before


def test_no_list_grows_beyond_what_can_be_read(place: Path, bundle: Path, tmp_path: Path) -> None:
    first, second = listed(place)
    text = [{"string_value": "x" * 1000, "arg_order": number} for number in range(3900)]
    target = with_items(place, tmp_path / "target", {**first, "meta_info": text})
    before = (target / ABS).read_bytes()
    left = Left()
    with Bundle(str(bundle), Report()) as opened:
        done = import_bundle(opened, str(target), Report(), left)
    assert (done.entries, left.codes) == (1, ["kernel-unloadable"] * 2)
    assert (target / ABS).read_bytes() == before
    assert (target / LISTS / second["kernel_path"]).exists(), "which was there before"


def huge(path: Path) -> None:
    with path.open("wb") as out:
        out.truncate(5 << 20)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("["),
        lambda path: path.write_text('{"kernel_path": "lib/x.so"}'),
        lambda path: path.write_text("[1]"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.mkdir(),
        os.mkfifo,
        lambda path: path.symlink_to("/dev/null"),
        huge,
    ],
)
def test_a_list_that_cannot_be_read_is_left_alone(
    spoil: Callable[[Path], object], bundle: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    (target / ABS).parent.mkdir(parents=True)
    spoil(target / ABS)
    before = (target / ABS).lstat()[:7]  # less the times: who reads a link leaves one
    done, left = bring(bundle, target)
    assert (done.entries, left.codes) == (1, ["list-unreadable"] * 2)
    assert (target / ABS).lstat()[:7] == before
    libraries = {path.name for path in target.rglob("*.so")}
    assert len(libraries) == 1, "none of what no list names"


def restated(members: dict[str, bytes], change: Callable[[Any], Any]) -> None:
    """Change the text of the one kernel of add.Tensor, and whatever promises its bytes."""
    [path] = [path for path in members if "add.Tensor" in path]
    data = change(json.loads(members[path]))
    members[path] = data if isinstance(data, bytes) else json.dumps(data).encode()
    said = json.loads(members["manifest.json"])
    [entry] = [entry for entry in said["entries"] if entry["path"] == path]
    for file in entry["files"]:
        if file["path"] == path:
            file["size"] = len(members[path])
            file["sha256"] = hashlib.sha256(members[path]).hexdigest()
    parts = sorted([file["path"].rpartition("/")[2], file["sha256"]] for file in entry["files"])
    entry["sha256"] = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    members["manifest.json"] = json.dumps(said).encode()


def of_item(**changes: Any) -> Callable[[Any], Any]:
    def change(about: Any) -> Any:
        about["item"] |= changes
        return about

    return change


def of_input(**changes: Any) -> Callable[[Any], Any]:
    def change(about: Any) -> Any:
        about["item"]["meta_info"][0] |= changes
        return about

    return change


HOSTILE: dict[str, Callable[[Any], Any]] = {
    "an absolute library": of_item(kernel_path="/tmp/evil.so"),
    "one above the folder": of_item(kernel_path="../../../evil.so"),
    "one that leads out of lib": of_item(kernel_path="lib/../../evil.so"),
    "one that the bundle lacks": of_item(kernel_path="lib/ab/evil.wrapper.so"),
    "no library": of_item(kernel_path=None),
    "a list for a library": of_item(kernel_path=["lib"]),
    "a field of its own": of_item(more={"a": 1}),
    "inputs that are no list": of_item(meta_info={"arg_order": 0}),
    "too many inputs": of_item(meta_info=[{"arg_order": 0, "string_value": "x"}] * 1000),
    "an input that is no object": of_item(meta_info=["x"]),
    "a list of tensors": of_input(tensor_list=[]),
    "dynamic shapes": of_input(is_dynamic=True),
    "what torch runs as a type": of_input(dtype="torch.load"),
    "a layout that is none": of_input(layout_value="torch.compile"),
    "sizes that are none": of_input(sizes="4, 8"),
    "a size beyond all": of_input(sizes=[1 << 70]),
    "a device that is none": of_input(device_type="cpu\nx"),
    "no shape": lambda about: (about["item"]["meta_info"][0].pop("sizes"), about)[1],
    "other inputs than its name says": of_input(sizes=[5, 5]),
    "another operator": lambda about: {**about, "op": "aten::abs"},
    "another device": lambda about: {**about, "device": "cuda"},
    "no object": lambda about: [about],
    "no item": lambda about: {**about, "item": None},
    "nothing": lambda _: b"",
    "no JSON": lambda _: b"{",
    "depth": lambda _: b"[" * 200_000,
    "size": lambda _: b" " * (5 << 20),
    "no text": lambda _: b"\xff\xfe{}",
}


@sampled("name", HOSTILE, most=8)
def test_a_hostile_item_is_left_out(name: str, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.torchcache"

    rewrite(bundle, other, lambda members: restated(members, HOSTILE[name]))
    target = tmp_path / "target"
    done, left = bring(other, target)
    assert (done.entries, left.codes) == (2, ["kernel-unloadable"])
    assert sorted(path.name for path in target.rglob("*.json") if path.parent.name == "cpu") == [
        "abs.json"
    ]
    assert len(list(target.rglob("*.so"))) == 2
    assert not (tmp_path / "evil.so").exists()


@pytest.mark.parametrize(
    "path",
    [
        "aoti_eager/aten/cpu/../../../x.json#0123456789ab",
        "aoti_eager/../aten/cpu/add.json#0123456789ab",
        "aoti_eager/aten/cpu/.json#0123456789ab",
        "aoti_eager/aten/cpu/add.json#",
        "aoti_eager/aten/cpu/add.json",
        "aoti_eager/aten/CPU/add.json#0123456789ab",
        "fxgraph/aten/cpu/add.json#0123456789ab",
        "aoti_eager/aten/cpu/lib/ab/x.so",
    ],
)
@pytest.mark.parametrize("which", ["#", ".so"])
def test_a_hostile_path_is_refused(path: str, which: str, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.torchcache"

    def change(members: dict[str, bytes]) -> None:
        said = json.loads(members["manifest.json"])
        entry = said["entries"][0]
        for file in entry["files"]:
            if which in file["path"]:
                members[f"files/{path}"] = members.pop(file["path"])
                file["path"] = f"files/{path}"
        members["manifest.json"] = json.dumps(said).encode()

    rewrite(bundle, other, change)
    code = "bundle-damaged" if ".." in path else "name-refused"
    try:
        with Bundle(str(other), Report()) as opened:
            assert [one.code for one in opened.refused] == [code]
            assert len(opened.items()) == 2
    except Problem as problem:
        assert problem.code == code


def test_a_kernel_for_a_gpu_stays_where_it_is(place: Path, tmp_path: Path) -> None:
    """Its library names the files of its GPU code by their absolute paths."""
    (place / LISTS).rename(place / "aoti_eager" / "aten" / "cuda")
    left = make(place, tmp_path / "none.torchcache")
    assert Counter(left.codes)["kernel-of-device"] == 3
    assert not (tmp_path / "none.torchcache").exists()


def test_what_pytorch_cannot_load_is_not_exported(place: Path, tmp_path: Path) -> None:
    first, second = listed(place)
    (place / ABS).write_text(json.dumps([first, {**second, "meta_info": [{"tensor_list": []}]}]))
    left = make(place, tmp_path / "b.torchcache")
    assert Counter(left.codes)["kernel-unloadable"] == 1
    with Bundle(str(tmp_path / "b.torchcache"), Report()) as opened:
        assert len(opened.items()) == 2


@pytest.mark.parametrize("after", [1, 3, 5, 7, 9])
def test_a_cancelled_import_leaves_no_trace(after: int, bundle: Path, tmp_path: Path) -> None:
    class Stops(Report):
        count = 0

        def check(self) -> None:
            self.count += 1
            if self.count > after:
                raise Cancelled

    target = tmp_path / "target"
    first, _ = bring(bundle, target)
    items = listed(target)
    # One that is there already, and one that is broken and makes way.
    (target / ABS).write_text(json.dumps([{**items[1], "kernel_path": "lib/gone.so"}]))
    (target / LISTS / "add.Tensor.json").unlink()
    before = snapshot(target, times=False)
    with Bundle(str(bundle), Report()) as opened, pytest.raises(Cancelled):
        import_bundle(opened, str(target), Stops(), Left())
    assert first.entries == 3
    assert snapshot(target, times=False) == before


def test_two_at_once_put_both_into_the_list(place: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    bundles = []
    for number, item in enumerate(listed(place)):
        (place / ABS).write_text(json.dumps([item]))
        bundles.append(tmp_path / f"{number}.torchcache")
        make(place, bundles[-1])
    left = Left()

    def work(file: Path) -> None:
        with Bundle(str(file), Report()) as opened:
            import_bundle(opened, str(target), Report(), left)

    threads = [threading.Thread(target=work, args=(file,)) for file in bundles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left.codes == []
    assert len(listed(target)) == len({digest(item) for item in listed(target)}) == 2


def test_pytorch_is_waited_for_while_it_writes_the_list(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "target"
    lock = target / LISTS / "lib" / "locks" / "abs.lock"
    lock.parent.mkdir(parents=True)
    monkeypatch.setattr(merging, "PATIENCE", 0.1)
    with FileLock(lock):
        left = Left()
        with Bundle(str(bundle), Report()) as opened:
            done = import_bundle(opened, str(target), Report(), left)
        assert (done.entries, left.codes) == (1, ["in-use"] * 2)
        assert not (target / ABS).exists()
    done, left = bring(bundle, target)
    assert (done.entries, done.exists, left.codes) == (2, 1, [])


def test_links_in_the_target_are_not_followed(bundle: Path, tmp_path: Path) -> None:
    target, away = tmp_path / "target", tmp_path / "away"
    (target / LISTS).mkdir(parents=True)
    away.mkdir()
    (target / LISTS / "lib").symlink_to(away)
    done, left = bring(bundle, target)
    assert (done.entries, left.codes) == (0, ["link-in-place"] * 3)
    assert list(away.iterdir()) == []


def never(item: Item, problem: Problem) -> None:
    raise AssertionError(f"{item.path} was left: {problem}")


def test_an_item_comes_off_the_list_and_back(place: Path) -> None:
    path = str(place / ABS)
    first, second = listed(place)
    assert merging.take(path, [first]) == [first]
    assert listed(place) == [second]
    assert merging.take(path, [first]) == []
    merging.take(path, [], [first])
    assert listed(place) == [second, first]
    assert merging.take(path, [first, second]) == [second, first]
    assert not (place / ABS).exists()
    merging.put(path, first)
    assert listed(place) == [first]
    assert Folder(str(place)).items(Report())
