"""The words for facts: of each kind its own, and none for what a stranger made up."""

from __future__ import annotations

import pytest

from torchkeeper.artifacts.entry import KINDS
from torchkeeper.client.words.explaining import WORDED, told


def words(kind: str, **facts: object) -> dict[str, list[str]]:
    return {fact.label: fact.values for fact in told(kind, dict(facts))}


def test_a_library_that_is_not_there() -> None:
    assert words("aoti_eager", op="aten::abs", library="lib/a.so") == {
        "Operator": ["aten::abs"], "Library": ["lib/a.so"], "Library exists": ["yes"],
    }  # fmt: skip
    gone = words("aoti_eager", library="lib/a.so", problem="library-missing")
    assert gone["Library exists"] == ["no"]


def test_numbers_have_their_nouns() -> None:
    assert words("precompile", variants=1, graphs=1204) == {
        "Variants": ["1 set of guards"], "Compiled graphs": ["1,204"],
    }  # fmt: skip
    assert words("autotune", choices=2, gpu="NVIDIA H200", versions={"cuda": "13.0"}) == {
        "Choices": ["2 timings"], "System": ["NVIDIA H200"], "CUDA": ["13.0"],
    }  # fmt: skip
    assert words("ondisk", prefix="00000000") == {
        "Cache version": ["unknown"], "Version prefix": ["00000000"],
    }  # fmt: skip
    assert words("autotune", name="XBLOCK=8") == {}, "the choice of one kernel"


@pytest.mark.parametrize("value", [None, 3.5, True, [], [1, {}], {"cuda": 1, 2: "x"}, {}])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_as_promised_is_not_said(kind: str, value: object) -> None:
    facts = dict.fromkeys(WORDED.get(kind, ()), value)
    assert all(isinstance(x, str) for fact in told(kind, facts) for x in fact.values)
    assert not {"System", "Library exists"} & words(kind, **facts).keys()
