"""Entries that go from one machine to another: copies, exports and imports."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.snapshots import snapshot
from tests.ssh.conftest import Machine, keygen
from tests.stores.test_jit_carrying import mine
from tests.stores.test_jits import machine, paths, serving
from torchkeeper.client.engines import ferry, line
from torchkeeper.client.words.problems import UserError
from torchkeeper.stores import parts

__all__ = ["machine", "serving"]

ALONE = ("--filter", "kind:fxgraph", "--alone")


def keys(tk: Tk, place: object) -> set[tuple[str, str, str]]:
    rows = tk("ls", "--json", place).objects
    return {(row["kind"], row["key"], row["sha256"]) for row in rows if "sha256" in row}


def test_from_there_to_a_folder_here(
    tk: Tk, there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    before = snapshot(fixture_cache)
    ran = tk("copy", "--json", there.place(fixture_cache), tmp_path / "here", *ALONE)
    assert (ran.code, ran.result["entries"], ran.result["what"]) == (0, 7, "folder")
    assert ran.result["place"] == there.place(fixture_cache)
    assert ran.result["into"] == str(tmp_path / "here")
    assert snapshot(fixture_cache) == before
    files = {file.name: file.read_bytes() for file in fixture_cache.glob("fxgraph/*/*/*")}
    assert files == {x.name: x.read_bytes() for x in (tmp_path / "here").glob("fxgraph/*/*/*")}
    again = tk("copy", "--json", there.place(fixture_cache), tmp_path / "here", *ALONE)
    assert (again.code, again.result["entries"], again.result["exists"]) == (0, 0, 7)


def test_from_here_to_a_folder_there_and_what_would_go(
    tk: Tk, there: Machine, fixture_cache: Path
) -> None:
    target = there.place("new")
    dry = tk("copy", "--json", "--allow-secrets", "--dry-run", fixture_cache, target, *ALONE)
    assert (dry.code, dry.result["entries"]) == (0, 7)
    assert not (there.home / "new").exists()
    ran = tk("copy", "--json", "--allow-secrets", fixture_cache, target, *ALONE)
    assert (ran.code, ran.result["entries"], ran.result["into"]) == (0, 7, target)
    assert keys(tk, target) == keys(tk, there.home / "new")
    assert len(list((there.home / "new").glob("fxgraph/*/*/*"))) == 7
    undone = tk("undo", "--json", target)
    assert (undone.code, undone.result["entries"], undone.result["undid"]) == (0, 7, "import")
    assert not list((there.home / "new").glob("fxgraph/*/*/*"))
    back = tk("undo", target)
    assert back.code == 0 and "7 entries" in back.out and "put back" in back.out
    assert len(list((there.home / "new").glob("fxgraph/*/*/*"))) == 7


def test_caches_of_other_compilers_go_and_come_to_the_byte(
    tk: Tk, there: Machine, machine: Path, tmp_path: Path
) -> None:
    before = mine(machine / "tilelang")
    target = there.place("tilelang")
    dry = tk("copy", "--json", "--dry-run", machine / "tilelang", target)
    assert (dry.code, dry.result["entries"]) == (0, 2)
    assert not (there.home / "tilelang").exists()
    assert tk("copy", machine / "tilelang", target).code == 0
    assert mine(there.home / "tilelang") == before
    assert tk("copy", target, tmp_path / "back").code == 0
    assert mine(tmp_path / "back") == before
    purged = tk("purge", "--json", target, "--filter", "kind:jit", "--yes")
    assert purged.code == 0
    assert not paths(there.home / "tilelang", "jit")
    assert tk("undo", target).code == 0
    assert mine(there.home / "tilelang") == before


def test_each_cache_of_a_bundle_goes_to_where_it_is_there(
    tk: Tk, there: Machine, machine: Path, tmp_path: Path
) -> None:
    bundle, places = tmp_path / "b.torchcache", (machine / "tilelang", machine / "tvm-ffi")
    assert tk("export", *places, "-o", bundle).code == 0
    dry = tk("import", bundle, "--into-each", "ssh://there", "--dry-run")
    assert f"  ssh://there{there.home}/.tilelang/cache (its default, which is not " in dry.out
    assert not (there.home / ".tilelang").exists()
    ran = tk("import", bundle, "--into-each", "ssh://there", "--trust", "--json")
    assert (ran.code, ran.result["entries"]) == (0, 3)
    assert mine(there.home / ".tilelang" / "cache") == mine(machine / "tilelang")
    assert mine(there.home / ".cache" / "tvm-ffi") == mine(machine / "tvm-ffi")


def test_what_was_filled_there_is_among_the_places_there(
    tk: Tk, there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    def found(*words: str) -> dict[str, str]:
        rows = tk("places", "--json", *words).objects
        return {row["path"]: row["reason"] for row in rows if row["reason"] == "filled"}

    new, other = (f"ssh://there{there.home}/{name}" for name in ("new", "a b"))
    copy = "copy", "--json", "--allow-secrets", fixture_cache
    assert tk(*copy, new, "--dry-run", *ALONE).code == 0 and found("ssh://there") == {}
    assert tk(*copy, there.place("b.torchcache"), *ALONE).code == 0 and found("ssh://there") == {}
    assert tk(*copy, there.place("new"), *ALONE).code == 0
    assert tk(*copy, tmp_path / "b.torchcache", *ALONE).code == 0
    assert tk("import", "--trust", tmp_path / "b.torchcache", "--into", other).code == 0
    line.close_all()
    assert found("ssh://there") == {new: "filled", other: "filled"}
    assert "filled by Torchkeeper" in tk("places", "ssh://there").out
    assert new in {row.get("place") for row in tk("overview", "--json", "ssh://there").objects}
    # Of this machine it is known as before.
    assert found() == {}
    shutil.rmtree(there.home / "new")
    assert found("ssh://there") == {other: "filled"}
    # What nobody can read, or is none of ours, is no place.
    kept = there.home / ".cache/torchkeeper/filled"
    assert oct(kept.stat().st_mode)[-3:] == "600"
    kept.write_bytes(kept.read_bytes() + b'"relative"\n"/a\\u0000b"\n7\n{\n')
    assert found("ssh://there") == {other: "filled"}


def test_secrets_stay_where_they_are(
    tk: Tk, there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    shutil.copytree(fixture_cache, tmp_path / "c")
    source = tmp_path / "c"
    (code,) = (x for x in [next(source.glob("*/*.py"))])
    code.write_text(code.read_text() + "\n# redis://me:hunter2hunter2@host:6379/0\n")
    ran = tk("copy", "--json", source, there.place("new"))
    assert ran.code == 1, ran
    assert ran.objects[-1]["error"]["code"] == "secrets-found"
    assert not (there.home / "new").exists()


def test_places_of_two_machines_go_into_one_file(
    tk: Tk, there: Machine, fixture_cache: Path, kept_215: Path, tmp_path: Path
) -> None:
    made, mine = tmp_path / "both.bin", kept_215 / "mega-cache.bin"
    far = there.place(fixture_cache)
    ran = tk("export", "--json", "--allow-secrets", far, mine, "-o", made)
    assert ran.code == 0
    only = {"fxgraph", "aotautograd", "autotune", "pgo", "precompile"}
    wanted = {one for one in keys(tk, fixture_cache) | keys(tk, mine) if one[0] in only}
    left = {(one["kind"], one["key"]) for one in ran.result["left"]}
    assert keys(tk, made) <= wanted
    assert {(kind, key) for kind, key, _ in wanted - keys(tk, made)} <= left
    # What is told of the other machine's is told of it by its name.
    files = {one.get("file") for one in ran.result["left"]}
    assert not any(one and "crossing" in one for one in files)
    line.close_all()


@pytest.mark.slow
def test_what_is_to_be_signed_is_not_sent_unsigned(
    tk: Tk, there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    file = tmp_path / "b.torchcache"
    assert tk("copy", "--allow-secrets", fixture_cache, file, *ALONE).code == 0
    assert tk("signers", "require", "on").code == 0
    try:
        for command in (
            ["import", "--trust", "--json", file, "--into", there.place("new")],
            ["copy", "--trust", "--json", file, there.place("new")],
        ):
            ran = tk(*command)
            assert ran.objects[-1]["error"]["code"] == "signature-required"
        assert not (there.home / "new").exists()
        shutil.copy(file, there.home / "b.torchcache")
        there_too = tk("copy", "--trust", "--json", there.place("b.torchcache"), there.place("new"))
        assert there_too.objects[-1]["error"]["code"] == "place-elsewhere"
    finally:
        tk("signers", "require", "off")


def test_what_comes_from_there_is_signed_here(
    tk: Tk, there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    key, out = tmp_path / "key", tmp_path / "out"
    keygen(key)
    out.mkdir()
    file = out / "b.torchcache"
    asked = "export", there.place(fixture_cache), "--filter", "kind:fxgraph", "--allow-secrets"
    ran = tk(*asked, "-o", file, "--sign", key, "--json")
    assert (ran.code, ran.result["entries"]) == (0, 7), ran
    assert ran.result["size"] == file.stat().st_size
    assert ran.result["signature"]["status"] == "unknown"
    assert tk("inspect", file, "--json").result["signature"] == ran.result["signature"]
    # What cannot be signed never has the name of what was asked for.
    wrong = tk(*asked, "-o", out / "c.torchcache", "--sign", there.config, "--json")
    assert wrong.objects[-1]["error"]["code"] == "signing-failed", wrong
    assert os.listdir(out) == ["b.torchcache"]
    assert not [one for one in (there.folder / "tmp").rglob("*.torchcache") if one.is_file()]
    # A bundle that stays there is not what a key of here signs.
    shutil.copy(file, there.home / "b.torchcache")
    stays = tk("sign", there.place("b.torchcache"), "--key", key, "--json")
    assert stays.objects[-1]["error"]["code"] == "sign-elsewhere", stays
    assert "export --sign" in stays.objects[-1]["error"]["remedy"]


def test_files_go_and_come_as_they_are(
    there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = os.urandom(3_000_000)
    (tmp_path / "a").write_bytes(data)
    told: list[tuple[int, int]] = []
    for size in (len(data) - 1, len(data) + 1):
        made = ferry.send("ssh://there", str(tmp_path / "a"))
        with pytest.raises(UserError) as raised:
            ferry.fetch(made, str(tmp_path / "c"), size)
        assert raised.value.code == "ssh-misspoken"
        assert not parts.there("ssh://there"), "what lies is not kept"
    made = ferry.send("ssh://there", str(tmp_path / "a"), lambda *far: told.append(far))
    assert told[-1] == (len(data), len(data))
    ferry.fetch(made, str(tmp_path / "b"), len(data))
    assert (tmp_path / "b").read_bytes() == data
    with pytest.raises(UserError) as raised:
        ferry.fetch("ssh://there/nothing", str(tmp_path / "c"), 1)
    assert "No such file" in raised.value.why
    assert not (tmp_path / "c").exists()
    line.close_all()
