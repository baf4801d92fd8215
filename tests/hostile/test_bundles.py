"""Bundles and mega-caches from strangers: looked into, listed, compared and imported."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.conftest import DATA
from tests.hostile import bundles, facts, megacaches, values, zips
from tests.hostile.listing import KEY, PATHS, Watched, listed
from tests.hostile.placing import imported
from tests.hostile.running import Run
from tests.hostile.tripwires import Arena, memory_bounded
from tests.hostile.zips import Member
from tests.sampling import sampled
from torchkeeper.artifacts import manifest, megacache
from torchkeeper.artifacts.entry import Problem


def test_a_good_one_is_taken_and_nothing_runs(arena: Arena) -> None:
    said, others = bundles.members(str(arena.trip / "x"))
    with Watched() as reader:
        assert imported(arena, bundles.whole(said, others), reader) == []
        reader.look()


def test_no_shared_object_is_loaded_and_no_source_is_run(arena: Arena) -> None:
    trip = str(arena.trip / "x")
    (arena.inside / "x.c").write_text(facts.CONSTRUCTOR)
    built = arena.inside / "x.so"
    command = ["gcc", "-shared", "-fPIC", f'-DTRIP="{trip}"', "-o", str(built)]
    subprocess.run([*command, str(arena.inside / "x.c")], check=True)
    # That it would fire, had anybody loaded it.
    subprocess.run(["python3", "-c", f"import ctypes; ctypes.CDLL({str(built)!r})"], check=True)
    Path(trip).unlink()
    data = built.read_bytes()
    library = f"aoti_eager/aten/cpu/lib/aa/c{KEY}.wrapper.so"
    files, mega = bundles.parts(trip)
    files = [
        (kind, key, {path: data if path.endswith(".so") else old for path, old in some.items()})
        for kind, key, some in files
    ]
    said, others = bundles.manifest(files, mega), bundles.members(trip)[1][-1:]
    others += [
        Member(f"files/{p}".encode(), one) for _, _, some in files for p, one in some.items()
    ]
    with Watched() as reader:
        for one in (data, *facts.cut_headers(data)):
            for path in (PATHS["object"], library):
                arena.held(lambda one=one, path=path: listed({path: one}, reader))  # type: ignore[misc]
        assert imported(arena, bundles.whole(said, others), reader) == []


@pytest.fixture(scope="module")
def real() -> bytes:
    """A mega-cache that torch wrote, less what is large in it."""
    data = gzip.decompress((DATA / "torch-2.9.1" / "mega-cache.bin.gz").read_bytes())
    stream = io.BytesIO(data)
    sections: dict[str, list[tuple[str, bytes]]] = {}
    for one in megacache.artifacts(stream):
        payload = data[one.offset : one.offset + one.size]
        if one.size < 100_000:
            sections.setdefault(one.type, []).append((one.key, payload))
    return megacaches.packed(sections.items())


def test_mega_caches(run: Run, arena: Arena, real: bytes) -> None:
    trip = str(arena.trip / "x")
    with Watched() as reader, memory_bounded():

        def check(data: bytes) -> None:
            # A reader for some: what it reads is tested elsewhere.
            imported(arena, data, reader if arena.count % 8 == 0 else None)

        run.many("mega-caches", lambda chance, n: megacaches.made(trip, real, chance, n), check)
        reader.look()


def test_of_two_that_are_told_to_be_the_only_one_of_a_key_the_first_is_placed(arena: Arena) -> None:
    mega = [("aot_autograd", f"a{KEY}", payload) for payload in (b"N.", b"K\x01.")]
    packed = megacaches.packed((name, [(key, data)]) for name, key, data in mega)
    said = bundles.manifest([], mega)
    assert [entry["name"] for entry in said["entries"]] == ["entry", "entry"]
    data = bundles.whole(said, [Member(b"mega-cache.bin", packed)])
    assert imported(arena, data) == ["key-taken"]


def test_manifests(run: Run, arena: Arena) -> None:
    trip = str(arena.trip / "x")
    with memory_bounded():
        run.many(
            "manifests",
            lambda chance, n: bundles.with_other_manifest(trip, chance, n),
            lambda data: imported(arena, data),
        )


def test_zips(run: Run, arena: Arena) -> None:
    trip = str(arena.trip / "x")
    with memory_bounded():
        run.many(
            "zips",
            lambda chance, n: bundles.with_other_zip(trip, chance, n),
            lambda data: imported(arena, data),
        )


def _number(value: int) -> bytes:
    return struct.pack(">Q", value)


MEGA = {
    "a count beyond all": megacaches.summed(_number(1) + _number(4) + b"cGdv" + _number(1 << 63)),
    "many artifacts of one name": megacaches.packed(
        [("pgo", [("k", b"%d" % n) for n in range(9_000)])]),
    "a count as large as the file": megacaches.summed(
        _number(1) + _number(4) + b"cGdv" + _number(200_000) + bytes(200_000)),
    "endless empty sections": megacaches.summed(_number(1) + bytes(16) * 200_000),
    "endless empty artifacts": megacaches.summed(
        _number(1) + _number(4) + b"cGdv" + _number(300_000) + bytes(16) * 300_000),
    "a length that overflows": megacaches.summed(_number(1) + _number((1 << 64) - 1)),
    "a payload that overflows": megacaches.summed(
        _number(1) + _number(4) + b"cGdv" + _number(1) + _number(0) + _number((1 << 64) - 8)),
    "another version": megacaches.summed(_number(2)),
    "nothing": megacaches.summed(_number(1)),
}  # fmt: skip


@sampled("name", MEGA, most=4)
def test_a_mega_cache_that_lies(name: str, arena: Arena) -> None:
    with memory_bounded():
        imported(arena, MEGA[name])


def _bomb(size: int) -> bytes:
    return bytes(size)


def _manifest(text: bytes, method: int = 8) -> bytes:
    return zips.packed([Member(b"manifest.json", text, method)])


#: What makes a bomb look as if it did not unpack out of proportion.
FILLER = Random(0).randbytes(400_000).hex().encode()

BUNDLES = {
    "a packed manifest of lists": lambda: _manifest(
        b'{"a": "' + FILLER + b'", "b": [' + b"[]," * 10_000_000 + b"0]}"),
    "a packed manifest of objects": lambda: _manifest(
        b'{"format":"torchcache","format_version":1,"made_by":"' + FILLER + b'","entries":['
        + b'{"":0},' * 4_000_000 + b"0]}"),
    "a manifest of lists": lambda: _manifest(b'{"a": [' + b"[]," * 10_000_000 + b"0]}", 0),
    "an entry of lists": lambda: _manifest(
        b'{\n "format": "torchcache",\n "format_version": 1,\n "made_in": null,\n "entries": [\n  '
        b'{"files": [' + b"[]," * 10_000_000 + b"0]}\n ]\n}\n", 0),
    "a manifest beyond all bounds": lambda: zips.packed([Member(b"manifest.json", b"{}", said={
        "offset": 0xFFFFFFFF, "extra": struct.pack("<HHQ", 1, 8, (1 << 64) - 1)})]),
    "a deep manifest": lambda: _manifest(b"[" * 10_000_000),
    "a number of a megabyte": lambda: _manifest(b'{"format_version": ' + b"9" * (1 << 20) + b"}"),
    "a number of 4,000 digits": lambda: _manifest(
        b'{"format": "torchcache", "format_version": ' + b"9" * 4_000 + b"}"),
    "a zip in a zip": lambda: _manifest(_manifest(_manifest(b"x"), 0), 0),
    "a zip bomb": lambda: zips.packed([Member(b"manifest.json", _bomb(30 << 20), 8)]),
    "one that says it is small": lambda: zips.packed(
        [Member(b"manifest.json", _bomb(30 << 20), 8, said={"size": 100})]),
    "one that says it is packed less": lambda: zips.packed(
        [Member(b"manifest.json", _bomb(60 << 20), 8, said={"packed": 1 << 20})]),
    "many members": lambda: zips.packed([Member(b"%d" % n) for n in range(30_000)]),
}  # fmt: skip


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_that_is_a_bomb(name: str, arena: Arena) -> None:
    data = BUNDLES[name]()
    with memory_bounded():
        codes = imported(arena, data)
    assert codes[0] in ("bundle-damaged", "bundle-newer")


def test_cut_at_every_place(arena: Arena) -> None:
    said, others = bundles.members(str(arena.trip / "x"))
    data = bundles.whole(said, others[:3])
    ends = {at + n for at in zips.headers(data) for n in (-1, 0, 1)}
    for end in sorted(ends):
        imported(arena, data[: max(0, end)])


@pytest.mark.parametrize("mark", [0o120777, 0o040755, 0o020666, 0o010644, 0o104755])
def test_members_that_are_no_files_are_written_as_such(mark: int, arena: Arena) -> None:
    said, others = bundles.members(str(arena.trip / "x"))
    for one in others:
        one.said["attributes"] = mark << 16
    imported(arena, bundles.whole(said, others))


@pytest.mark.parametrize("name", values.NAMES, ids=lambda name: repr(name[:20]))
def test_a_name_that_leads_elsewhere(name: str, arena: Arena) -> None:
    trip = str(arena.trip / "x")
    files, mega = bundles.parts(trip)
    kind, key, some = files[0]
    for path in (name, f"aa/{name}", f"{name}/{KEY}.py", f"aa/c{KEY}.{name}"):
        moved = {path: next(iter(some.values()))}
        packed = megacaches.packed([("pgo", [(name, b".")]), (name, [(name, b".")])])
        said = bundles.manifest([(kind, key, moved), (kind, name, moved)], mega)
        others = [Member(f"files/{path}".encode("utf-8", "surrogatepass"), moved[path])]
        imported(arena, bundles.whole(said, [*others, Member(b"mega-cache.bin", packed)]))


def test_members_that_overlap(arena: Arena) -> None:
    said, others = bundles.members(str(arena.trip / "x"))
    for offset in (0, 10, 1 << 20, (1 << 32) - 1):
        others[-1].said["offset"] = offset
        assert imported(arena, bundles.whole(said, others))[0] == "bundle-damaged"
    others[-1].said |= {"offset": 0xFFFFFFFF, "size": 0xFFFFFFFF, "packed": 0xFFFFFFFF}
    most = (1 << 64) - 1
    for large in ((most, most, 1 << 62), (100, 100, most), (most, most, 0), (0, 0, 1 << 63)):
        others[-1].said["extra"] = zips.zip64(*large)
        assert imported(arena, bundles.whole(said, others))[0] == "bundle-damaged"


def test_manifests_are_parsed_or_damaged(arena: Arena) -> None:
    for text in values.ODD_JSON:
        with pytest.raises(Problem, match="bundle-damaged"):
            arena.held(lambda text=text: list(manifest.begin(text).entries))  # type: ignore[misc]
