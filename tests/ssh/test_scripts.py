"""Places of another machine in scripts: ``torchkeeper.open("ssh://…")``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import torchkeeper
from tests.ssh.conftest import Machine, keygen
from torchkeeper.client import signers

GRAPHS = "kind:fxgraph"


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
def test_what_comes_from_there_is_signed_here(
    there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    file, key = tmp_path / "b.torchcache", tmp_path / "key"
    public = keygen(key)
    with torchkeeper.open(there.place(fixture_cache)) as place:
        done = place.export(file, GRAPHS, secrets="allow", sign=key)
        assert (done.entries, done.size) == (7, file.stat().st_size)
        with pytest.raises(torchkeeper.Error) as raised:
            place.export(file, GRAPHS, secrets="allow", sign=key)
        assert raised.value.code == "output-exists"
        with pytest.raises(torchkeeper.Error) as raised:
            place.export(tmp_path / "c", GRAPHS, secrets="allow", sign=there.folder / "config")
        assert raised.value.code == "signing-failed" and not (tmp_path / "c").exists()
    signers.trust("me", public)
    try:
        with torchkeeper.open(tmp_path / "cache") as mine:
            assert mine.import_(file).entries == 7
    finally:
        signers.distrust("me")


def test_what_is_named_wrongly_is_no_place() -> None:
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
