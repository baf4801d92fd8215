"""Places of another machine in scripts: ``torchkeeper.open("ssh://…")``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchkeeper
from tests.snapshots import snapshot
from tests.ssh.conftest import Machine
from torchkeeper.client.engines import line

GRAPHS = "kind:fxgraph"


@pytest.fixture(autouse=True)
def ends(there: Machine) -> Iterator[None]:
    yield
    line.close_all()


def keys(place: str | Path) -> set[tuple[str, str, str | None]]:
    with torchkeeper.open(place) as opened:
        return {(one.kind, one.key, one.sha256) for one in opened.entries()}


def test_entries_are_those_of_the_machine(there: Machine, fixture_cache: Path) -> None:
    with (
        torchkeeper.open(there.place(fixture_cache)) as far,
        torchkeeper.open(fixture_cache) as near,
    ):
        assert far.name == there.place(fixture_cache)
        assert far.entries() == near.entries()
        assert far.entries("kind:fxgraph size>1k") == near.entries("kind:fxgraph size>1k")
        with pytest.raises(torchkeeper.Error) as raised:
            far.entries("nonsense:")
        assert raised.value.code == "bad-filter"
    with torchkeeper.open("ssh://there/~/nothing") as none:
        with pytest.raises(torchkeeper.Error) as raised:
            none.entries()
        assert raised.value.code == "place-missing"
        assert "ssh://there/~/nothing" in str(raised.value)


def test_a_purge_there_is_undone(there: Machine, fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    with torchkeeper.open(there.place(fixture_cache)) as place:
        plan = place.purge(GRAPHS)
        assert (len(plan.entries), plan.files) == (7, 7)
        assert snapshot(fixture_cache) == before
        receipt = plan.apply()
        assert (receipt.entries, receipt.left) == (7, ())
        assert not list(fixture_cache.glob("fxgraph/*/*/*"))
        assert receipt.undo().entries == 7
    assert len(list(fixture_cache.glob("fxgraph/*/*/*"))) == 7


@pytest.mark.slow
def test_entries_come_and_go(there: Machine, fixture_cache: Path, tmp_path: Path) -> None:
    name = there.place(fixture_cache)
    with torchkeeper.open(name) as far:
        done = far.copy(tmp_path / "here", GRAPHS, with_needed=False)
        assert (done.into, done.entries) == (str(tmp_path / "here"), 7)
        file = tmp_path / "b.torchcache"
        exported = far.export(file, GRAPHS, secrets="allow")
        assert (exported.entries, exported.size) == (7, file.stat().st_size)
        with pytest.raises(torchkeeper.Error) as raised:
            far.export(file, GRAPHS, secrets="allow")
        assert raised.value.code == "output-exists"
        inside = far.copy(there.place("inside"), GRAPHS, with_needed=False)
        assert (inside.entries, inside.into) == (7, there.place("inside"))
    with torchkeeper.open(tmp_path / "here") as near:
        sent = near.copy(there.place("new"), secrets="allow")
        assert (sent.entries, sent.into) == (7, there.place("new"))
    assert keys(there.place("new")) == keys(tmp_path / "here") == keys(there.home / "new")
    with torchkeeper.open(there.place("imported")) as far:
        with pytest.raises(torchkeeper.Error) as raised:
            far.import_(file)
        assert raised.value.code == "untrusted"
        assert not (there.home / "imported").exists()
        assert far.import_(file, trust=True).entries == 7
    assert keys(there.place("imported")) == keys(file)
    assert not list((there.folder / "tmp").glob("*crossing*"))


@pytest.mark.slow
def test_secrets_stay_where_they_are(there: Machine, fixture_cache: Path) -> None:
    code = next(fixture_cache.glob("*/*.py"))
    code.write_text(code.read_text() + "\n# redis://me:hunter2hunter2@host:6379/0\n")
    with torchkeeper.open(fixture_cache) as near:
        with pytest.raises(torchkeeper.Error) as raised:
            near.copy(there.place("new"))
        assert raised.value.code == "secrets-found"
    assert not (there.home / "new").exists()


def test_places_of_a_machine(there: Machine, fixture_cache: Path) -> None:
    cache = there.home / "cache"
    shutil.move(fixture_cache, cache)
    there.rc.write_text(f"export TORCHINDUCTOR_CACHE_DIR={cache} TRITON_REDIS_HOST=127.0.0.1")
    found = torchkeeper.places("ssh://there")
    assert there.place(cache) in found
    assert all(one.startswith("ssh://there/") for one in found)
    assert keys(there.place(cache)) == keys(cache)
    for wrong in ("there", "/tmp", "redis://host"):
        with pytest.raises(torchkeeper.Error) as raised:
            torchkeeper.places(wrong)
        assert raised.value.code == "wrong-usage"


@pytest.mark.slow
def test_verdicts_are_those_of_a_python_there(
    there: Machine, warm_cache: Path, torch_python: str
) -> None:
    with (
        torchkeeper.open(there.place(warm_cache)) as far,
        torchkeeper.open(warm_cache) as near,
    ):
        assert far.entries(verdicts_for=torch_python) == near.entries(verdicts_for=torch_python)
        stale = far.purge(stale=True, verdicts_for=torch_python)
        assert stale.entries == near.purge(stale=True, verdicts_for=torch_python).entries


def test_what_cannot_be_done_there_says_so(
    there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    with torchkeeper.open(there.place(fixture_cache)) as place:
        with pytest.raises(torchkeeper.Error) as raised:
            place.export(tmp_path / "b.torchcache", sign=there.folder / "user")
        assert raised.value.code == "place-elsewhere"
    for wrong in ("ssh://a b/x", "ssh://-oProxyCommand=x/y"):
        with pytest.raises(torchkeeper.Error) as raised:
            torchkeeper.open(wrong)
        assert raised.value.code == "ssh-address-wrong"


def test_a_machine_that_is_away_says_so(there: Machine, fixture_cache: Path) -> None:
    there.rc.write_text("exit 3")
    with torchkeeper.open(there.place(fixture_cache)) as place:
        with pytest.raises(torchkeeper.Error) as raised:
            place.entries()
        assert raised.value.code == "ssh-failed"
        os.unlink(there.rc)
        assert place.entries(), "the next one begins anew"
