"""Whether a recorded recipe is proved: what is decided by what was found."""

from __future__ import annotations

from typing import Any

from torchkeeper.client.recipes import recording
from torchkeeper.client.recipes.recording import Proof


def variant(index: int, name: str = "Net", hits: int = 1, problem: str = "") -> Any:
    told = {"code": problem, "params": {"name": "Net", "why": "no"}} if problem else None
    return {"index": index, "name": name, "hits": hits, "misses": 0, "problem": told}


def graph(key: str | None, outcome: str = "miss", cause: str = "nothing") -> Any:
    return {"id": "0/0 forward", "key": key, "name": f"of {key}", "outcome": outcome,
            "cause": {"code": cause}}  # fmt: skip


def test_what_the_program_has_left_is_what_is_to_be_found() -> None:
    found = recording.looked_up([
        graph("a"), graph("b", "hit") | {"cause": None}, graph("c", cause="failed"),
        graph("d", "bypass", "bypass"), graph(None), graph("e", cause="cut"),
    ])  # fmt: skip
    assert found == {"a": "of a", "b": "of b"}


def test_a_recipe_is_proved_where_all_is_found() -> None:
    proof = recording.judged({"a": "x", "b": "y"}, [variant(0), variant(1)], set(), {"a", "b", "c"})
    assert proof == Proof(2, 2)
    assert proof.said == (
        "Proved: 2 of 2 combinations found what the program compiled, in a fresh process"
    )
    assert proof.to_json()["proved"] is True


def test_what_is_not_found_is_named() -> None:
    variants = [
        variant(0),
        variant(1, "Wide"),
        variant(2, "op", hits=0),
        variant(3, "Own", 0, "warm-failed"),
    ]
    proof = recording.judged({"a": "x"}, variants, {1}, {"a"})
    assert (proof.good, proof.of) == (1, 4)
    wide, op, own = proof.why
    assert wide.startswith("Wide is made in another way here than in the program")
    assert op.startswith("op is made in another way")
    assert own.startswith("Own cannot be made again")
    assert proof.said == "Tried: 1 of 4 combinations found what the program compiled"
    assert proof.to_json()["proved"] is False


def test_a_variant_that_finds_anothers_graph_proves_nothing() -> None:
    """Two models of a class, one changed after it was built, are one item of the recipe."""
    program = {"a": "forward", "b": "forward", "c": "other"}
    proof = recording.judged(program, [variant(0)], set(), {"a"})
    assert proof.why == [
        "2 graphs that the program compiled (forward, other) were not asked for: something was "
        "changed after it was built, or is compiled where it cannot be heard"
    ]
    assert not recording.judged(program, [variant(0)], set(), {"a", "b", "c"}).why


def test_backward_passes_that_the_program_never_made_are_no_fault() -> None:
    assert recording.is_backward("3/1 backward")
    assert recording.is_backward("3/1 backward 2")
    assert not recording.is_backward("3/1 forward")
    # One that it did make is among what must be found.
    assert recording.judged({"a": "x", "b": "x"}, [variant(0)], set(), {"a"}).why


def test_what_this_machine_cannot_run_is_not_proved() -> None:
    proof = recording.judged({"a": "x"}, [variant(0, hits=0, problem="disk-full")], set(), set())
    assert proof.unproved.startswith("Net: ")
    assert proof.why == []
    assert proof.said.startswith("Not proved: Net: ")
    assert proof.to_json()["proved"] is None
    uncached = variant(1, "op", 0, "nothing-cached")
    assert recording.judged({"a": "x"}, [variant(0), uncached], set(), {"a"}).unproved.startswith(
        "op: "
    )
    proof = recording.judged({"a": "x"}, [variant(0), uncached], {0}, {"a"})
    assert (proof.good, proof.of, len(proof.why)) == (0, 2, 1)


def test_graphs_that_autograd_entries_hold_themselves_are_found() -> None:
    bundled = variant(0, hits=0) | {"autograd": {"hits": 1, "misses": 0}}
    assert recording.judged({"a": "x"}, [bundled], set(), {"a"}) == Proof(1, 1)
