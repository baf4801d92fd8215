"""Where entries lie is a fact of theirs: it is the same in every place that they are copied to."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.data import before_2_8
from tests.redis_server import serving
from tests.snapshots import below
from tests.stores.building import filling
from tests.stores.test_copying import carry, files
from tests.stores.test_screening import ask, put
from torchkeeper.artifacts import layout, manifest, megacache
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles.bundle import Bundle

SECRET = b"hunter2-not-a-real-password"


@pytest.fixture
def older(clean_291: Path, tmp_path: Path) -> Path:
    """A cache whose AOTAutograd entries lie where torch before 2.8 looks for them."""
    cache = Path(shutil.copytree(clean_291, tmp_path / "older"))
    assert len(before_2_8.rewrite(cache)) == 4
    return cache


def autograd(folder: Path) -> dict[str, bytes]:
    """The AOTAutograd entries of a folder, by their paths."""
    return {path: data for path, data in files(folder).items() if path.startswith("aotautograd/")}


def test_the_bytes_of_an_entry_tell_the_name_that_its_torch_gives_it(kept_291: Path) -> None:
    for path in (p for p in kept_291.glob("aotautograd/*/*") if p.is_file()):
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        older = before_2_8.payload(data)
        for size in (1, 7, 1 << 20):
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
            assert layout.file_name("aotautograd", digest, pieces) == path.name
            pieces = [older[at : at + size] for at in range(0, len(older), size)]
            assert layout.file_name("aotautograd", digest, pieces) == "entry"
        assert layout.file_name("fxgraph", digest, [older]) == path.name


def test_older_entries_keep_their_name_from_folder_to_folder(older: Path, tmp_path: Path) -> None:
    done, _ = carry(older, tmp_path / "t")
    assert files(tmp_path / "t") == files(older)
    assert {path.rpartition("/")[2] for path in autograd(tmp_path / "t")} == {"entry"}
    again, _ = carry(older, tmp_path / "t")
    assert (again.entries, again.exists) == (0, done.entries)


def test_older_entries_keep_their_name_by_way_of_a_bundle(older: Path, tmp_path: Path) -> None:
    made, _ = carry(older, tmp_path / "b.torchcache")
    carry(tmp_path / "b.torchcache", tmp_path / "c.torchcache")
    carry(tmp_path / "c.torchcache", tmp_path / "t")
    assert files(tmp_path / "t") == files(older)
    again, _ = carry(tmp_path / "b.torchcache", tmp_path / "t")
    assert (again.entries, again.exists) == (0, made.entries)


@pytest.fixture
def renamed(clean_291: Path, tmp_path: Path) -> Path:
    """A cache whose AOTAutograd entries have a name that nothing in them tells, and of one of them
    there is a second with the name of its digest.
    """
    cache = Path(shutil.copytree(clean_291, tmp_path / "renamed"))
    paths = sorted(path for path in cache.glob("aotautograd/*/*") if path.is_file())
    for path in paths:
        path.rename(path.with_name("entry"))
    shutil.copy(paths[0].with_name("entry"), paths[0])
    assert len(autograd(cache)) == 5
    return cache


@pytest.mark.slow
def test_a_name_that_the_payload_does_not_tell_is_kept_by_way_of_a_bundle(
    renamed: Path, tmp_path: Path
) -> None:
    made, _ = carry(renamed, tmp_path / "b.torchcache")
    carry(tmp_path / "b.torchcache", tmp_path / "c.torchcache")
    for name in ("b", "c"):
        carry(tmp_path / f"{name}.torchcache", tmp_path / name)
        assert files(tmp_path / name) == files(renamed)
        again, _ = carry(tmp_path / f"{name}.torchcache", tmp_path / name)
        assert (again.entries, again.exists) == (0, made.entries)
    carry(tmp_path / "b", tmp_path / "d.torchcache")
    assert len({(tmp_path / f"{name}.torchcache").read_bytes() for name in "bcd"}) == 1


def test_how_big_a_bundle_with_such_names_will_be_is_foretold(
    renamed: Path, tmp_path: Path
) -> None:
    output = tmp_path / "b.torchcache"
    planned, _ = ask("export", place=str(renamed), output=str(output), dry_run=True)
    ask("export", place=str(renamed), output=str(output))
    assert planned["size"] == output.stat().st_size


def test_a_server_keeps_no_name_and_each_torch_finds_what_comes_back(
    renamed: Path, clean_291: Path, tmp_path: Path
) -> None:
    """Torch since 2.8 opens every file of a key, so the name that the payload tells will do."""
    with serving(tmp_path / "redis") as server:
        carry(renamed, server.url, "aotautograd")
        carry(server.url, tmp_path / "t")
    assert autograd(tmp_path / "t") == autograd(clean_291)


def test_older_entries_keep_their_name_out_of_a_mega_cache(older: Path, tmp_path: Path) -> None:
    mega = tmp_path / "mega.bin"
    with mega.open("w+b") as stream:
        writer = megacache.Writer(stream)
        writer.section("aot_autograd")
        for path, data in autograd(older).items():
            writer.artifact(path.split("/")[1], filling(iter([data])))
        writer.close()
    carry(mega, tmp_path / "t")
    assert autograd(tmp_path / "t") == autograd(older)


def test_older_entries_keep_their_name_by_way_of_a_server(
    older: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "redis") as server:
        for folder, spool in (("t", 32 << 20), ("u", 100)):
            # As one that is too large for the memory, too.
            monkeypatch.setattr("torchkeeper.stores.redis.payloads.SPOOL", spool)
            carry(older, server.url, "aotautograd")
            carry(server.url, tmp_path / folder)
            assert autograd(tmp_path / folder) == autograd(older)
            again, _ = carry(server.url, tmp_path / folder)
            assert (again.entries, again.exists) == (0, 4)


def test_older_entries_keep_their_name_out_of_a_rank_of_vllm(older: Path, tmp_path: Path) -> None:
    rank = tmp_path / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0"
    shutil.copytree(older, rank / "inductor_cache")
    # Of a rank alone any cache can be made; of all keys, where vLLM looks for them.
    for place, output, inside in (
        (rank, "r.torchcache", ""),
        (rank.parents[1], "all.torchcache", "1a2b3c4d5e/rank_0_0/inductor_cache"),
    ):
        carry(place, tmp_path / output)
        carry(tmp_path / output, tmp_path / output[:1])
        assert autograd(tmp_path / output[:1] / inside) == autograd(older)
    other = tmp_path / "rank_1_0"
    (other / "inductor_cache").mkdir(parents=True)
    carry(tmp_path / "r.torchcache", other)
    assert autograd(other / "inductor_cache") == autograd(older)


def test_of_a_bundle_of_an_earlier_version_the_payload_tells_the_name(
    older: Path, renamed: Path, clean_291: Path, tmp_path: Path
) -> None:
    for cache, expected in ((older, older), (renamed, clean_291)):
        carry(cache, tmp_path / "new.torchcache", replace=True)
        with zipfile.ZipFile(tmp_path / "new.torchcache") as new:
            said = manifest.begin(new.read(manifest.NAME))
            listed = list(said.entries)
            assert [entry.name for entry in listed].count("entry") == 4
            entries = tuple(replace(entry, name="") for entry in listed)
            with zipfile.ZipFile(tmp_path / "old.torchcache", "w") as old:
                for name in new.namelist():
                    made = b"".join(replace(said, entries=entries).pieces())
                    old.writestr(name, made if name == manifest.NAME else new.read(name))
        with Bundle(str(tmp_path / "old.torchcache"), Report()) as bundle:
            assert bundle.refused == []
            mine = [item for item in bundle.items() if item.kind == "aotautograd"]
        assert {item.path for item in mine} == set(autograd(expected))


def test_an_older_entry_that_is_there_is_never_overwritten(older: Path, tmp_path: Path) -> None:
    """Its name says nothing of its content: another one is not a broken one."""
    target = Path(shutil.copytree(older, tmp_path / "t"))
    path = target / next(iter(autograd(older)))
    path.write_bytes(path.read_bytes() + b"# another")
    before = path.read_bytes()
    _, left = carry(older, target)
    assert left.codes.count("key-taken") == 1
    assert path.read_bytes() == before


def test_an_older_entry_that_is_redacted_keeps_its_name(older: Path, tmp_path: Path) -> None:
    path = older / next(iter(autograd(older)))
    path.write_bytes(path.read_bytes() + b"redis://:%b@cache.example:6379" % SECRET)
    expected = autograd(older) | {
        str(path.relative_to(older)): path.read_bytes().replace(SECRET, b"x" * len(SECRET))
    }
    ask("export", place=str(older), output=str(tmp_path / "b.torchcache"), secrets="redact")
    ask("import", file=str(tmp_path / "b.torchcache"), into=str(tmp_path / "t"))
    assert autograd(tmp_path / "t") == expected


def test_older_entries_are_no_broken_ones_and_a_graph_of_that_name_is_unknown(older: Path) -> None:
    """No torch names a graph so: whose file it is nobody knows."""
    before, _ = ask("list", place=str(older))
    assert (before["broken"], before["unknown"]) == (0, 0)
    graph = next(path for path in sorted(older.glob("fxgraph/*/*/*")) if path.is_file())
    graph.rename(graph.with_name("entry"))
    listed, _ = ask("list", place=str(older))
    assert (listed["broken"], listed["unknown"]) == (0, 1)
    assert listed["entries"] == before["entries"] - 1


def test_what_another_torch_has_is_another_entry_there(older: Path, clean_291: Path) -> None:
    """Of two layouts of one key, neither is the other: both torches find their own."""
    carry(clean_291, older, "aotautograd")
    assert len(autograd(older)) == 8
    for path in autograd(clean_291):
        assert os.listdir((older / path).parent).count("entry") == 1


def test_an_entry_with_a_name_of_todays_goes_where_it_was(tmp_path: Path) -> None:
    path = put(tmp_path / "c", "aotautograd", "a" * 52, b"no pickle")
    assert path.name == layout.payload_name(hashlib.sha256(b"no pickle").hexdigest())


@pytest.fixture
def rank(clean_291: Path, kernels: Path, tmp_path: Path) -> Path:
    """A rank's folder laid out as vLLM does it, of caches that torch and Triton wrote."""
    folder = tmp_path / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0"
    shutil.copytree(clean_291, folder / "inductor_cache")
    shutil.copytree(kernels, folder / "triton_cache")
    return folder


def homes_of(folder: Path) -> set[str]:
    """Where kernels lie in a folder."""
    return {
        str(path.parent.parent.relative_to(folder))
        for path in below(folder)
        if path.match("__grp__*")
    }


def test_kernels_of_a_rank_lie_in_an_empty_folder_where_inductor_looks(
    rank: Path, tmp_path: Path
) -> None:
    carry(rank, tmp_path / "b.torchcache")
    for source in (tmp_path / "b.torchcache", rank):
        target = tmp_path / f"from-{source.stem}"
        done, _ = carry(source, target)
        assert homes_of(target) == {"triton/0"}
        again, _ = carry(source, target)
        assert (again.entries, again.exists) == (0, done.entries)
        assert len([x for x in below(target) if x.match("__grp__*")]) == 2


@pytest.mark.parametrize("there", ["inductor_cache/", "triton_cache/", ""])
def test_kernels_lie_in_a_rank_where_vllm_has_triton_look(
    rank: Path, tmp_path: Path, there: str
) -> None:
    other = tmp_path / "1a2b" / "rank_1_0"
    (other / there).mkdir(parents=True)
    done, _ = carry(rank, other)
    assert homes_of(other) == {"triton_cache"}
    again, _ = carry(rank, other)
    assert (again.entries, again.exists) == (0, done.entries)


def test_kernels_alone_lie_in_an_empty_folder_as_where_they_come_from(
    rank: Path, triton_cache: Path, tmp_path: Path
) -> None:
    inductor = tmp_path / "inductor"
    shutil.copytree(triton_cache, inductor / "triton" / "1")
    for source, home in ((rank, "."), (triton_cache, "."), (inductor, "triton/1")):
        target = tmp_path / f"of-{source.name}"
        carry(source, target, "triton")
        assert homes_of(target) == {home}
        again, _ = carry(source, target, "triton")
        assert (again.entries, again.exists) == (0, 2)


@pytest.mark.parametrize("has", ["ab/", "fxgraph/", "triton/0/", "dynamo/", "aoti_eager/aten/"])
def test_kernels_lie_where_inductor_looks_if_the_folder_is_its(
    triton_cache: Path, tmp_path: Path, has: str
) -> None:
    (tmp_path / "t" / has).mkdir(parents=True)
    carry(triton_cache, tmp_path / "t")
    assert homes_of(tmp_path / "t") == {"triton/0"}


def test_graphs_make_a_cache_of_tritons_one_of_inductors(
    rank: Path, kernels: Path, tmp_path: Path
) -> None:
    """Or the next copy of the same would find a folder of another sort, and put doubles beside."""
    shutil.copytree(kernels, tmp_path / "t")
    done, _ = carry(rank, tmp_path / "t")
    again, _ = carry(rank, tmp_path / "t")
    assert (again.entries, again.exists) == (0, done.entries)
    assert homes_of(tmp_path / "t") == {".", "triton/0"}


def test_kernels_of_a_server_lie_where_the_folder_has_them(
    rank: Path, kernels: Path, tmp_path: Path
) -> None:
    with serving(tmp_path / "redis") as server:
        carry(rank, server.url, "triton fxgraph")
        shutil.copytree(kernels, tmp_path / "triton")
        (tmp_path / "rank_0_1").mkdir()
        expected = {"empty": "triton/0", "rank_0_1": "triton_cache", "triton": "."}
        for name, home in expected.items():
            kinds = "triton" if name == "triton" else ""
            done, _ = carry(server.url, tmp_path / name, kinds)
            assert homes_of(tmp_path / name) == {home}
            again, _ = carry(server.url, tmp_path / name, kinds)
            assert (again.entries, again.exists) == (0, done.entries + done.exists)
