"""The filter grammar."""

from __future__ import annotations

import pytest

from torchkeeper.artifacts.entry import UNREAD, VERDICTS, Entry, Problem
from torchkeeper.stores import query

NOW = 1_000_000_000.0


def entry(**changes: object) -> Entry:
    values = {"kind": "fxgraph", "key": "fabc", "name": "sin_matmul: mm, sin", "size": 5_000_000,
              "files": 1, "mtime": NOW - 86400 * 10, "torch": "2.13.0+cpu", "device": "cuda:90",
              "compile_s": 3.5, "path": "p", "sha256": None, "problem": None}  # fmt: skip
    return Entry(**{**values, **changes})  # type: ignore[arg-type]


#: What entries of other compilers are called; one was not read.
_OF_JIT = ("FlashInfer: norm", "FlashInfer", "DeepGEMM: fp8", "CuTe DSL", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True), ("  ", True), ("MATMUL", True), ("fab", True), ("nothing", False),
        ("-nothing", True), ("-matmul", False), ('"mm, sin"', True), ('-"mm, sin"', False),
        ("kind:fxgraph", True), ("kind:code", False), ("-kind:code", True),
        ("torch:2.13", True), ("torch:2.1", False), ("torch:2", True), ("torch:2.13.0+cpu", True),
        ("device:cuda", True), ("device:cuda:90", True), ("device:cpu", False),
        ("size>4M", True), ("size>5MB", False), ("size>=5000000", True), ("size<5MiB", True),
        ("age>9d", True), ("age>2w", False), ("age<240h", False), ("age<=240h", True),
        ("compile>3", True), ("compile>1m", False), ("files=1", True),
        ("is:broken", False), ("-is:broken", True), ("is:orphan", False), ("-is:orphan", True),
        ("matmul kind:fxgraph size>1M age>1d", True), ("matmul kind:fxgraph size>1G", False),
        ('"sin_matmul:"', True), ('"a:b"', False), ("KIND:FXGraph", True),
        ("kind:code,fxgraph", True), ("kind:code,pgo", False), ("kind:flashinfer", False),
        ("-kind:flashinfer", True), ("kind:flashinfer,fxgraph", True),
    ],
)  # fmt: skip
def test_terms(text: str, expected: bool) -> None:
    assert query.parse(text, NOW).matches(entry()) is expected


@pytest.mark.parametrize(
    ("expires", "used", "matching"),
    [
        (NOW + 86400 * 3, NOW - 86400 * 100, {"used>90d", "expires<7d", "expires>1d"}),
        (0.0, NOW - 60, {"expires:never", "expires>1d", "used<2m"}),
        (None, None, set()),
    ],
)
def test_terms_of_servers(expires: float | None, used: float | None, matching: set[str]) -> None:
    terms = {"used>90d", "used<2m", "expires<7d", "expires>1d", "expires:never"}
    one = entry(expires=expires, used=used)
    assert {text for text in terms if query.parse(text, NOW).matches(one)} == matching


@pytest.mark.parametrize("verdict", [*VERDICTS, None])
def test_verdicts(verdict: str | None) -> None:
    one = entry(verdict=verdict)
    matching = [name for name in VERDICTS if query.parse(f"is:{name}").matches(one)]
    assert matching == ([verdict] if verdict else [])
    for name in set(VERDICTS) - {"broken"}:
        # What has none is not another: it may be what a usable one needs.
        assert query.parse(f"-is:{name}").matches(one) is (verdict not in (name, None))


def test_what_asks_for_a_verdict() -> None:
    assert query.VERDICT in query.parse("kind:code -is:Stale").fields
    # What is broken, any reading tells.
    assert query.parse("is:broken").fields == {"is"}


def test_absent_values_match_nothing() -> None:
    bare = entry(name=None, mtime=None, torch=None, device=None, compile_s=None, problem="x")
    for text in ("torch:2", "device:cpu", "age>0d", "compile>0", "matmul"):
        assert not query.parse(text, NOW).matches(bare)
        assert query.parse("-" + text, NOW).matches(bare)
    assert query.parse("is:broken fabc", NOW).matches(bare)
    assert query.parse("is:orphan", NOW).matches(entry(orphan="left-behind"))


@pytest.mark.parametrize(
    ("text", "names"),
    [("kind:flashinfer", {"FlashInfer: norm", "FlashInfer"}), ("kind:jit", {*_OF_JIT}),
     ("kind:deepgemm,lock", {"DeepGEMM: fp8"}), ("kind:deep_gemm", {"DeepGEMM: fp8"}),
     ("kind:cute-dsl", {"CuTe DSL"}), ("kind:CuTeDSL", {"CuTe DSL"}),
     # Of one that was not read nobody knows whose it is.
     ("-kind:flashinfer", {"DeepGEMM: fp8", "CuTe DSL"}), ("-kind:jit", set())],
)  # fmt: skip
def test_entries_of_a_compiler(text: str, names: set[str | None]) -> None:
    found = query.parse(text)
    some = [entry(kind="jit", name=name) for name in _OF_JIT]
    assert {one.name for one in some if found.matches(one)} == names
    # What reads no entry does not know either.
    assert text.endswith(("lock", "jit")) or query.COMPILER in found.fields
    assert found.kinds >= {"jit"} or text[0] == "-"


@pytest.mark.parametrize("problem", sorted(UNREAD))
def test_what_was_not_read_is_not_what_a_minus_rules_out(problem: str) -> None:
    """A purge of all but torch 2.13 would remove what may be of torch 2.13."""
    unread = entry(name=None, torch=None, device=None, compile_s=None, problem=problem,
                   verdict="unknown")  # fmt: skip
    for text in ("torch:2.13", "device:cpu", "compile>5", "matmul", "is:usable", "is:broken",
                 "is:orphan"):  # fmt: skip
        assert not query.parse(f"-{text}", NOW).matches(unread), text
    for text in ("-kind:code", "-kind:flashinfer", "-size>1G", "-age>90d", "-is:foreign", "fabc",
                 "is:unread"):  # fmt: skip
        assert query.parse(text, NOW).matches(unread), text


@pytest.mark.parametrize(
    "text",
    ["kind:nonsense", "kind:cuda-driver", "kind:flash", "kind:-", "kind>3",
     "size:3", "size>much", "size>3q", "age>", "size>", "is:good",
     '"open', "torch>2", "age>3k", "kind:", "colour:red",
     "-knd:lock", "size >70k", "a:b", "kind:fxgraph,cod"],
)  # fmt: skip
def test_mistakes_are_said(text: str) -> None:
    with pytest.raises(Problem) as caught:
        query.parse(text)
    assert caught.value.code == "bad-filter"
    assert caught.value.params["why"]


@pytest.mark.parametrize(
    "text", ["password:hunter2", "-token=hunter2", 'secret>"hunter2', "x:" + "hunter2" * 1000]
)
def test_what_may_be_a_secret_is_not_said_again(text: str) -> None:
    with pytest.raises(Problem) as caught:
        query.parse(text)
    assert "hunter2" not in str(caught.value.params)
    assert "…" in str(caught.value.params["token"])


def test_a_mistyped_field_is_guessed() -> None:
    with pytest.raises(Problem) as caught:
        query.parse("knd:fxgraph")
    assert str(caught.value.params["why"]).startswith("did you mean “kind”? ")
