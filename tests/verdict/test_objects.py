"""Why a built object is left out: one rule after the other, each with what it lets pass."""

from __future__ import annotations

from typing import Any

import pytest

from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import user_error
from torchkeeper.verdict.native import why_not, why_not_library
from torchkeeper.verdict.probed import Env

KERNEL = "None {cxx} i -O3 -march=native -I{torch}/include -mavx2 -mfma -o o.so"
CHECK = "gcc version 12.2.0 (Debian)_=-mavx2 -mfma=2.13.0+cpu"
FLAGS = ["avx", "avx2", "fma", "sse2"]
CLAIM: dict[str, Any] = {
    "torch": "2.13.0+cpu", "torch_key": "ab" * 32, "python": "cpython-311-x86_64-linux-gnu",
    "compiler": "g++ (Debian 12.2.0-14) 12.2.0", "libc": "glibc 2.36", "cpu_flags": FLAGS,
    "commands": [KERNEL, CHECK],
}  # fmt: skip
OWN = frozenset({"avx2", "sse2"})


def here(**other: Any) -> Env:
    """An environment as that of the claim, but for these facts of how it builds."""
    native: Any = CLAIM | {"commands": [{"portable": KERNEL}, {"portable": CHECK}]} | other
    return {"cpu_flags": native["cpu_flags"], "libc": native["libc"], "native": native}


def code(*arguments: Any) -> str | None:
    problem = why_not(*arguments)
    if problem is None:
        return None
    # What it says is complete.
    said = user_error(problem.code, problem.params)
    assert problem.code in CATALOGUE
    assert "?" not in f"{said.what}{said.why}", said
    return problem.code


@pytest.mark.parametrize("portable", [KERNEL, CHECK])
@pytest.mark.parametrize("own", [OWN, frozenset(FLAGS), frozenset(), None])
def test_what_was_built_alike_is_placed(portable: str, own: frozenset[str] | None) -> None:
    assert code(CLAIM, portable, own, here()) is None


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"torch": "2.12.0+cpu"}, "object-torch"),
        ({"torch_key": "cd" * 32}, "object-torch"),
        ({"python": "cpython-312-x86_64-linux-gnu"}, "object-python"),
        ({"compiler": "g++ (Debian 14.2.0-1) 14.2.0"}, "object-compiler"),
        ({"compiler": "Debian clang version 14.0.6"}, "object-compiler"),
        # It is told by the name by which it was called.
        ({"compiler": "c++-12 (Debian 12.2.0-14) 12.2.0"}, None),
        ({"libc": "glibc 2.35"}, "object-libc"),
        ({"libc": "glibc 2.4"}, "object-libc"),
        ({"libc": "glibc 2.41"}, None),
        ({"libc": None}, "object-libc"),
        ({"commands": [{"portable": CHECK}]}, "object-command"),
        ({"commands": []}, "object-command"),
        ({"cpu_flags": ["avx", "fma", "sse2"]}, "object-cpu"),
        ({"cpu_flags": [*FLAGS, "avx512f"]}, None),
        ({"cpu_flags": []}, "object-unproven"),
    ],
)
def test_another_environment(other: dict[str, Any], found: str | None) -> None:
    assert code(CLAIM, KERNEL, OWN, here(**other)) == found


def test_what_differs_is_named() -> None:
    commands = [{"portable": CHECK}, {"portable": KERNEL.replace("-mavx2", "-mavx512f -mavx512bw")}]
    problem = why_not(CLAIM, KERNEL, OWN, here(commands=commands))
    assert problem is not None
    assert problem.params == {"differs": "-mavx2, here -mavx512f -mavx512bw"}
    problem = why_not(CLAIM, KERNEL, OWN, here(cpu_flags=["sse2"]))
    assert problem is not None
    assert problem.params == {"differs": "avx2 is missing here"}
    problem = why_not(CLAIM, KERNEL, OWN, here(torch_key="cd" * 32))
    assert problem is not None
    assert problem.params["there"] == "2.13.0+cpu (sources abababababab)"


@pytest.mark.parametrize(
    ("flags", "found"),
    [(FLAGS, None), (FLAGS[1:], "object-cpu"), ([*FLAGS, "amx_tile"], "object-cpu")],
)
def test_without_a_record_the_cpu_has_to_be_the_same(flags: list[str], found: str | None) -> None:
    assert code(CLAIM, KERNEL, None, here(cpu_flags=flags)) == found


def test_what_it_records_contradicts_the_claim() -> None:
    lie = CLAIM | {"cpu_flags": ["sse2"]}
    assert code(lie, KERNEL, OWN, here()) == "object-misclaimed"
    # What was claimed of objects is not claimed of one whose making is not recorded.
    assert code(lie, None, OWN, here()) is None


def test_a_claimed_cpu_that_can_do_more_is_another_one() -> None:
    claim = CLAIM | {"cpu_flags": [*FLAGS, "avx512f"]}
    assert code(claim, KERNEL, OWN, here()) == "object-cpu"
    # What the kernel says of itself, and not of instructions, differs on one CPU.
    assert code(CLAIM | {"cpu_flags": [*FLAGS, "md_clear"]}, KERNEL, OWN, here()) is None


def test_of_one_that_was_built_elsewhere_no_cpu_is_claimed() -> None:
    claim = CLAIM | {"cpu_flags": None}
    assert code(claim, KERNEL, OWN, here()) is None
    assert code(claim, KERNEL, OWN, here(cpu_flags=["sse2"])) == "object-cpu"
    assert code(claim, KERNEL, None, here()) == "object-unproven"
    assert code(claim, KERNEL, OWN, here(torch="2.12.0+cpu")) == "object-torch"


@pytest.mark.parametrize("claim", [None, CLAIM])
def test_where_its_making_is_not_recorded(claim: dict[str, Any] | None) -> None:
    assert code(claim, None, OWN, here()) is None
    assert code(claim, None, OWN, here(torch="2.12.0", commands=[])) is None
    assert code(claim, None, OWN, here(cpu_flags=["sse2"])) == "object-cpu"
    assert code(claim, None, None, here()) == "object-unproven"


def test_a_machine_without_an_environment() -> None:
    machine: dict[str, Any] = {"cpu_flags": FLAGS, "libc": "glibc 2.36"}
    for facts in (machine, machine | {"native": None, "torch": None}):
        assert code(CLAIM, KERNEL, OWN, facts) is None
        assert code(CLAIM, KERNEL, None, facts) is None
        assert code(CLAIM, KERNEL, OWN, facts | {"libc": "glibc 2.31"}) == "object-libc"
        assert code(CLAIM, KERNEL, OWN, facts | {"cpu_flags": ["sse2"]}) == "object-cpu"
    assert code(CLAIM, KERNEL, OWN, {}) == "object-libc"
    assert code(None, None, OWN, {}) == "object-unproven"


@pytest.mark.parametrize(
    ("claim", "own", "other", "found"),
    [
        (CLAIM, OWN, {}, None),
        (None, OWN, {}, None),
        (CLAIM, None, {}, None),
        # It is found by a list, and needs neither a Python nor a command.
        (
            CLAIM,
            OWN,
            {"python": "cpython-312-x86_64-linux-gnu", "compiler": "?", "commands": []},
            None,
        ),
        (CLAIM, OWN, {"torch": "2.12.0+cpu"}, "object-torch"),
        (CLAIM, OWN, {"torch_key": "cd" * 32}, "object-torch"),
        (CLAIM, OWN, {"libc": "glibc 2.35"}, "object-libc"),
        (CLAIM, OWN, {"cpu_flags": ["sse2"]}, "object-cpu"),
        (None, OWN, {"cpu_flags": ["sse2"]}, "object-cpu"),
        (CLAIM, None, {"cpu_flags": [*FLAGS, "more"]}, "object-cpu"),
        (None, None, {}, "object-unproven"),
        ({**CLAIM, "cpu_flags": None}, None, {}, "object-unproven"),
        (CLAIM, OWN | {"avx512f"}, {"cpu_flags": [*FLAGS, "avx512f"]}, "object-misclaimed"),
    ],
)
def test_a_library_of_an_eager_kernel(
    claim: Any, own: frozenset[str] | None, other: dict[str, Any], found: str | None
) -> None:
    problem = why_not_library(claim, own, here(**other))
    assert (problem.code if problem else None) == found
    # Without an environment only the machine is known.
    whole = here(**other)
    alone: Env = {"cpu_flags": whole["cpu_flags"], "libc": whole["libc"]}
    problem = why_not_library(claim, own, alone)
    assert (problem.code if problem else None) == (None if found == "object-torch" else found)
