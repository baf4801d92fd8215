"""A profile given to processes: what they get, and what is said before."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchkeeper.client.profiles import profile as applying
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.client.words.problems import UserError
from torchkeeper.settings.finding import About, about_of

FOLDER, TRITON = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"
AOT = "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE"
BUNDLED = "TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE"


def test_where_it_leads_is_told_only_where_that_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = str(tmp_path / "place")
    same = Profile("p", {FOLDER: "place", TRITON: "place/triton"})
    assert applying.moved(same, place) == []
    assert applying.sent(same) == {FOLDER: place, TRITON: f"{place}/triton"}
    other = Profile("p", {FOLDER: "/srv/a", TRITON: "/srv/b"})
    first, second = applying.moved(other, place)
    assert f"{FOLDER} of the profile, /srv/a" in first
    assert f"{TRITON} of the profile, /srv/b" in second


def test_only_errors_keep_it_from_being_used() -> None:
    warned = Profile("p", {"TORCHINDUCTOR_REDIS_URL": "redis://:hunter2@h/0"})
    found = applying.allowed(warned)
    assert {one.severity for one in found} == {"warning"}
    bad = Profile("p", {AOT: "1"})
    with pytest.raises(UserError) as caught:
        applying.allowed(bad)
    assert caught.value.code == "profile-refused"
    assert "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1" in caught.value.why
    assert applying.allowed(bad, insist=True)[0].code == "remote-autograd-alone"


def test_what_an_interpreter_is_decides_too() -> None:
    """That every compile fails without a GPU is known only of a machine."""
    profile = Profile("p", {BUNDLED: "1"})
    facts = {"torch": "2.13.0+cpu", "triton": "3.7.1", "devices": [{"type": "cpu"}]}
    about = about_of(facts)
    assert about == About("2.13.0+cpu", "3.7.1", False)
    with pytest.raises(UserError):
        applying.allowed(profile, about)
    gpu = {**facts, "devices": [{"type": "cuda"}, {"type": "cpu"}]}
    assert all(one.severity != "error" for one in applying.allowed(profile, about_of(gpu)))
    assert about_of({}) == About()


@pytest.mark.parametrize(
    "values",
    [{"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}, {"TORCH_COMPILE_FORCE_DISABLE_CACHES": "1"},
     {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}],
)  # fmt: skip
def test_nothing_is_kept_without_caches(values: dict[str, str]) -> None:
    with pytest.raises(UserError) as caught:
        applying.check_caches(Profile("p", values))
    assert caught.value.code == "profile-without-caches"
    applying.check_caches(Profile("p", {}))
