"""Profiles in files: kept whole, for their owner alone; nothing is lost to a damaged one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client.profiles.test_formats import VALUES
from torchkeeper.client.profiles import keeping
from torchkeeper.client.profiles.formats import chosen
from torchkeeper.client.profiles.profile import Profile, name_fault
from torchkeeper.client.words.problems import UserError

FX, URL = "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_REDIS_URL"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has its own profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Path(keeping.folder())


def code(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    return caught.value.code


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=VALUES, about=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_what_is_kept_is_there_again(values: dict[str, str], about: str, folder: Path) -> None:
    profile = Profile("any name", values, about.replace("\0", ""))
    file = keeping.save(profile)
    assert keeping.load("any name") == profile
    assert keeping.read_file(file) == profile
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_names_are_no_paths(folder: Path) -> None:
    for name in ("", " ", "a/b", "../a", ".a", "-a", "a.toml", "a\n", "a\\b", "x" * 65, "a "):
        assert name_fault(name), name
        assert code(partial(keeping.save, Profile(name))) == "profile-name"
        assert code(partial(keeping.load, name)) == "profile-name"
        assert code(partial(keeping.remove, name)) == "profile-name"
    assert not folder.exists()
    for name in ("serving", "Größe 2", "a.b", "x" * 64):
        keeping.save(Profile(name))
    assert keeping.names() == ["a.b", "Größe 2", "serving", "x" * 64]


def test_a_file_in_place_of_the_folder_is_no_profile_of_that_name(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("mine")
    for replace in (True, False):
        assert code(partial(keeping.save, Profile("one"), replace=replace)) == "profile-unwritable"
    assert folder.read_text() == "mine"


def test_rename_and_remove_take_nothing_else(folder: Path) -> None:
    one, two = Profile("one", {FX: "0"}), Profile("two", {FX: "1"})
    keeping.save(one)
    keeping.save(two)
    assert code(lambda: keeping.rename("one", "two")) == "profile-exists"
    assert code(lambda: keeping.rename("three", "four")) == "profile-unknown"
    assert code(lambda: keeping.save(one, replace=False)) == "profile-exists"
    keeping.rename("one", "three")
    assert keeping.names() == ["three", "two"]
    assert keeping.load("three").values == {FX: "0"}
    keeping.remove("two")
    assert code(lambda: keeping.remove("two")) == "profile-unknown"
    assert code(lambda: keeping.load("two")) == "profile-unknown"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("about = 'x'\n[settings\n", "It is not TOML: "),
        (f"[settings]\n{FX} = 1\n", f"Line 2: {FX} is not a text in quotes"),
        ("[settings]\n\nTORCH_OF_TOMORROW = '1'\n", "Line 3: TORCH_OF_TOMORROW is no setting"),
        ("about = 2", "Line 1: about is not a text"),
        ("settings = 2", "Line 1: settings is not a table"),
        ("x = 1", "Line 1: x is nothing that a profile has"),
        ("x = " + "[" * 3000, "It is not TOML that anybody would write"),
    ],
)
def test_a_damaged_one_is_named_and_stays(text: str, why: str, folder: Path) -> None:
    keeping.save(Profile("good", {FX: "1"}))
    (folder / "bad.toml").write_text(text)
    assert keeping.names() == ["bad", "good"]
    with pytest.raises(UserError) as caught:
        keeping.load("bad")
    assert caught.value.code == "profile-damaged"
    assert why in caught.value.why
    assert (folder / "bad.toml").read_text() == text


def test_what_no_variable_can_have_is_not_kept(folder: Path) -> None:
    for text in ("a\0b", "\udcff", "x" * 40_000):
        save = partial(keeping.save, Profile("a", {FX: text}))
        assert code(save) == "profile-value-impossible"
    assert code(lambda: keeping.save(Profile("a", {"PATH": "/"}))) == "profile-setting-unknown"
    assert not folder.exists()


def test_a_name_or_a_file_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keeping.save(Profile("serving", {FX: "0"}))
    keeping.save_file(Profile("x", {FX: "1"}, "in git"), "team.toml")
    assert stat.S_IMODE(os.stat("team.toml").st_mode) == 0o600
    os.chmod("team.toml", 0o644)
    keeping.save_file(Profile("x", {FX: "1", URL: "redis://h"}, "in git"), "team.toml")
    assert stat.S_IMODE(os.stat("team.toml").st_mode) == 0o644
    assert chosen("team.toml") == Profile("team", {FX: "1", URL: "redis://h"}, "in git")
    Path("serving").write_text(f"export {FX}=1")
    assert chosen("serving").values == {FX: "0"}
    assert chosen("./serving").values == {FX: "1"}
    Path("serve.sh").write_text(f"export {FX}=1")
    assert chosen("serve.sh") == Profile("serve", {FX: "1"})
    assert code(lambda: chosen("none")) == "profile-unknown"
    assert code(lambda: chosen("./none")) == "profile-unreadable"


def test_nobody_else_reads_a_file_that_has_a_password_by_now(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "team.toml"
    file.write_text("")
    file.chmod(0o644)
    keeping.save_file(Profile("team", {FX: "1"}), str(file))
    assert file.stat().st_mode & 0o777 == 0o644
    keeping.save_file(Profile("team", {URL: "redis://:hunter2@h:1/0"}), str(file))
    assert file.stat().st_mode & 0o777 == 0o600
