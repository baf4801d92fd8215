"""The table of vLLM's variables, held to vLLM's own code."""

from __future__ import annotations

import json

import pytest

from tests import vllm as wheel
from torchkeeper.artifacts.vllm import text_of
from torchkeeper.settings import vllm

#: What a variable may be set to.
TEXTS = ("0", "1", "7", "true", "Foo", " 1 ", "False", "2.5", "a,b", "None")
#: Those that take some words only, of which vLLM takes no other.
WORDS = ("auto", "relax", "highest", "cuda", "binary", "NONE", "strict", "fp8", "NHD")


def hashed_by_vllm() -> set[str]:
    return set(wheel.envs().environment_variables) - wheel.ignored()


@pytest.mark.slow
@wheel.needed
def test_which_are_hashed_is_what_vllm_says() -> None:
    """Says which facts are others in the version that is named."""
    mine = {name for name in vllm.hashed() if not name.startswith("RAY_EXPERIMENTAL")}
    known = set(wheel.envs().environment_variables)
    theirs = hashed_by_vllm()
    assert {"hashed, not here": theirs - mine, "here, not hashed": mine - theirs,
            "ignored, not here": wheel.ignored() & known - vllm.ignored(),
            "here, not ignored": vllm.ignored() - wheel.ignored()} == {
        "hashed, not here": set(), "here, not hashed": set(),
        "ignored, not here": set(), "here, not ignored": set(),
    }  # fmt: skip
    assert (len(known), len(mine), len(vllm.ignored())) == (318, 236, 82)


@pytest.mark.slow
@wheel.needed
def test_values_are_those_that_vllm_makes_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    getters = wheel.envs().environment_variables
    for name in (*getters, *vllm._DEPENDS["VLLM_TPU_USING_PATHWAYS"]):
        monkeypatch.delenv(name, raising=False)
    compared = 0
    for name in sorted(hashed_by_vllm()):
        if (mine := vllm.value(name, {})) is not None:
            theirs = getters[name]()
            theirs = sorted(theirs) if isinstance(theirs, set) else theirs
            assert mine == text_of(theirs), name
        for text in (*TEXTS, *WORDS):
            monkeypatch.setenv(name, text)
            try:
                theirs = text_of(getters[name]())
            except Exception:  # noqa: BLE001 - vLLM says so of a text that it does not take
                continue
            if (mine := vllm.value(name, {name: text})) is not None:
                assert mine == theirs, (name, text)
                compared += 1
        monkeypatch.delenv(name)
    assert compared > 2000


def test_the_table_is_whole() -> None:
    found = vllm.hashed()
    assert len(found) == 245
    assert not set(found) & vllm.ignored()
    assert vllm.own() < set(found)
    for one in found.values():
        assert one.default == "?" or text_of(json.loads(one.default)) == one.default


def test_what_cannot_be_told_is_not() -> None:
    assert (
        vllm.value("VLLM_P2P_SIDE_CHANNEL_PORT", {"VLLM_P2P_SIDE_CHANNEL_PORT": "5601"}) == "5601"
    )
    assert vllm.value("VLLM_P2P_SIDE_CHANNEL_PORT", {}) == "5710"
    # torch's version decides; another variable does; and no number comes of a word.
    assert vllm.value("VLLM_USE_AOT_COMPILE", {}) is None
    assert vllm.value("VLLM_USE_AOT_COMPILE", {"VLLM_USE_AOT_COMPILE": "0"}) == "false"
    assert vllm.value("VLLM_DP_RANK_LOCAL", {"VLLM_DP_RANK": "3"}) is None
    assert vllm.value("VLLM_DP_RANK", {"VLLM_DP_RANK": "three"}) is None
    assert vllm.value("VLLM_OF_TOMORROW", {}) is None


def test_what_is_a_secret() -> None:
    assert vllm.is_secret("VLLM_API_KEY") and vllm.is_secret("S3_ACCESS_KEY_ID")
    assert not any(map(vllm.is_secret, vllm.hashed()))
