"""Places that the user has made read-only: kept in one file, and held to."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest

from torchkeeper.client.kept import protected
from torchkeeper.client.kept import whole as kept
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import TABLE


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def refused(op: str, **params: object) -> str:
    """The code that a request is refused with; empty where it is not."""
    try:
        protected.guard(op, params)
    except UserError as error:
        return error.code
    return ""


def test_a_place_is_kept_until_it_is_given_up() -> None:
    assert protected.protected() == []
    assert protected.protect("/b", True) == ["/b"]
    assert protected.protect("redis://h:6379/0", True) == ["/b", "redis://h:6379/0"]
    assert protected.protected() == ["/b", "redis://h:6379/0"]
    assert [x.name for x in Path(kept.file("read-only")).parent.iterdir()] == ["read-only.json"]
    assert stat.S_IMODE(Path(kept.file("read-only")).stat().st_mode) == 0o600
    assert protected.protect("/b", False) == ["redis://h:6379/0"]
    assert protected.protect("/never", False) == ["redis://h:6379/0"]


def test_what_changes_it_is_refused_and_looking_is_not(tmp_path: Path) -> None:
    place = str(tmp_path / "cache")
    protected.protect(place, True)
    for one in TABLE.values():
        if one.changes:
            assert refused(one.name, **{one.changes: place}) == "place-protected", one.name
            assert refused(one.name, **{one.changes: place + "-other"}) == "", one.name
    assert refused("copy", into=place, dry=True) == ""
    assert refused("copy", place=place, into="/elsewhere") == ""
    for op in ("list", "plan_purge", "du", "show", "facts"):
        assert refused(op, place=place) == ""


def test_preparing_changes_a_place_below_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "me")
    protected.protect(str(tmp_path / "torchinductor_me"), True)
    assert refused("prepare", into=str(tmp_path)) == "place-within-protected"
    assert refused("prepare", into=str(tmp_path / "torchinductor_you")) == ""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert refused("prepare") == "place-within-protected"
    assert refused("prepare", into="") == "", "which the engine refuses"


def test_another_way_to_the_same_place_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    place = str(tmp_path / "cache")
    protected.protect(place, True)
    assert refused("purge", place=str(tmp_path / "link")) == "place-within-protected"
    assert refused("purge", place=f"{place}/fxgraph") == "place-within-protected"
    assert refused("purge", place=str(tmp_path)) == "place-within-protected", "it would go too"
    assert refused("copy", into=str(tmp_path)) == ""
    protected.protect("redis://localhost:6379/1", True)
    for name, code in {
        "redis://localhost:6379/1": "place-protected",
        "redis://ada@127.0.0.1:6379/1": "place-within-protected",
        "rediss://LOCALHOST:6379/1?ssl_ca_certs=/ca.pem": "place-within-protected",
        "redis://localhost:6379/0": "",
        "redis://localhost:6380/1": "",
        "unix:///localhost:6379/1": "",
    }.items():
        assert refused("ttl", place=name) == code, name


@pytest.mark.parametrize("damaged", ["", "{}", "[1]", "[" * 100_000, "\x00"])
def test_a_damaged_list_protects_everything(damaged: str) -> None:
    protected.protect("/b", True)
    Path(kept.file("read-only")).write_text(damaged)
    assert refused("purge", place="/a") == "protection-unreadable"
    with pytest.raises(UserError) as told:
        protected.protect("/a", True)
    assert told.value.code == "protection-unreadable"
    assert Path(kept.file("read-only")).read_text() == damaged, "what it was is not lost"


def test_a_list_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "torchkeeper").write_text("a file where the folder goes")
    with pytest.raises(UserError) as told:
        protected.protect("/a", True)
    assert told.value.code in ("protection-unwritable", "protection-unreadable")
