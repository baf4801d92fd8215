"""What a key may ask that is let in for some folders alone."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.engine import fence, protocol
from torchkeeper.engine.fence import Fence


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    for name in ("served", "served-not", "private"):
        (tmp_path / name).mkdir()
    (tmp_path / "served/out").symlink_to(tmp_path / "served-not")
    (tmp_path / "served/a/b").mkdir(parents=True)
    (tmp_path / "served/deep").symlink_to("a/b")  # with “..” it is another one to whoever joins
    return tmp_path / "served"


def fenced(inside: Path, read_only: bool = False) -> Fence:
    one = Fence((str(inside),), str(inside.parent / "private"), read_only)
    return Fence.from_json(one.to_json())


def texts(kind: Any, name: str = "") -> Iterator[str]:
    """The names of all parameters of a type in which a text may stand."""
    if typing.is_typeddict(kind):
        for key, one in typing.get_type_hints(kind).items():
            if key == "env" and typing.is_typeddict(one):
                yield key  # facts of an environment: they are compared, and nothing is opened
            else:
                yield from texts(one, key)
    elif kind in (str, Any, object):
        yield name
    else:
        for one in typing.get_args(kind):
            yield from texts(one, name)


@pytest.mark.parametrize("op", sorted(fence.LOOKS | fence.CHANGES))
def test_every_text_that_can_be_asked_has_its_rule(op: str) -> None:
    ruled = fence.PLACED | fence.WITHIN | fence.PLAIN
    refused = {"signers"}
    assert set(texts(protocol.TABLE[op].params)) <= ruled | refused


def test_what_looks_changes_nothing() -> None:
    may = {op for op in fence.LOOKS if protocol.TABLE[op].changes}
    assert may == {protocol.EXPORT}  # into the private folder


def test_an_operation_that_is_not_named_is_refused(inside: Path) -> None:
    for op in protocol.TABLE.keys() - fence.LOOKS:
        with pytest.raises(Problem) as refused:
            fenced(inside, read_only=True).check(op, {"place": str(inside)})
        assert refused.value.code == "not-served"
    for op in fence.CHANGES:
        fenced(inside).check(op, {"place": str(inside)})
    for op in (protocol.WARM, protocol.RUN, protocol.PLACES, protocol.OVERVIEW, protocol.SECRET,
               protocol.DETACH, protocol.FOLLOW, protocol.JOBS, protocol.HAND_OVER):  # fmt: skip
        with pytest.raises(Problem):
            fenced(inside).check(op, {})


@pytest.mark.parametrize(
    "place",
    ["/", "/etc", "../served-not", "", "served", "redis://127.0.0.1", "ssh://x/y", "{}-not",
     "{}/../served-not", "{}/out", "{}/out/deeper", "{}/a\0b", "~", "{}/../served/../private-not",
     "{}/deep/../x"],
)  # fmt: skip
def test_a_place_outside_is_refused(inside: Path, place: str) -> None:
    for params in (
        {"place": place.format(inside)},
        {"place": str(inside), "nearest": [place.format(inside)]},
        {"place": str(inside), "other": {"place": place.format(inside), "path": "x"}},
        {"into": str(inside), "manifests": {place.format(inside): "0" * 64}},
    ):
        with pytest.raises(Problem) as refused:
            fenced(inside).check(protocol.EXPLAIN, params)
        assert refused.value.code == "place-not-served"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "fxgraph/../../x"])
def test_an_entry_outside_is_refused(inside: Path, path: str) -> None:
    chosen: dict[str, object] = {"select": {"items": [["fxgraph", path]]}}
    for more in ({"path": path}, chosen):
        with pytest.raises(Problem) as refused:
            fenced(inside).check(protocol.DETAIL, {"place": str(inside), **more})
        assert refused.value.code == "place-not-served"


def test_what_is_inside_is_let_in(inside: Path) -> None:
    for place in (inside, inside / "deeper/x.torchcache", inside.parent / "private/b.torchcache"):
        fenced(inside, read_only=True).check(protocol.LIST, {"place": str(place), "filter": "/x"})
    fenced(inside).check(protocol.DETAIL, {"place": str(inside), "path": "fxgraph/x"})
    fenced(inside).check(protocol.TARGET, {"path": str(inside)})


@pytest.mark.parametrize("read_only", [True, False])
def test_an_export_goes_to_the_private_folder_alone(inside: Path, read_only: bool) -> None:
    """Elsewhere it would take the place of a file that is no bundle."""
    asked = {"place": str(inside), "output": str(inside / "notes.txt")}
    with pytest.raises(Problem) as refused:
        fenced(inside, read_only).check(protocol.EXPORT, asked)
    assert refused.value.code == "place-not-served"
    asked["output"] = str(inside.parent / "private/b.torchcache")
    fenced(inside, read_only).check(protocol.EXPORT, asked)


def test_a_parameter_that_has_no_rule_is_refused(inside: Path) -> None:
    with pytest.raises(Problem) as refused:
        fenced(inside).check(protocol.LIST, {"place": str(inside), "signers": "/etc/passwd"})
    assert (refused.value.code, refused.value.params) == ("not-served", {"what": "signers"})
    fenced(inside).check(protocol.LIST, {"place": str(inside), "signers": None, "all": True})


def test_what_no_cache_has_written_is_not_purged(inside: Path) -> None:
    """A link that leads out could be purged, and put back while a copy goes beyond it."""
    for chosen in ({"items": [["unknown", "out"]]}, {"filter": "kind:unknown"}):
        asked = {"place": str(inside), "select": {**chosen, "unknown": True}}
        with pytest.raises(Problem) as refused:
            fenced(inside).check(protocol.PLAN_PURGE, asked)
        assert refused.value.params == {"what": "unknown"}
        asked["select"] = {**chosen, "unknown": False}
        fenced(inside).check(protocol.PLAN_PURGE, asked)
