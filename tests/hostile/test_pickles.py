"""Pickles: a listing reads them in a reader process, ours alone by a machine of our own."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random

import pytest

from tests.hostile import pickles, values
from tests.hostile.listing import PATHS, Watched, listed
from tests.hostile.mutations import mutated
from tests.hostile.running import Run
from tests.hostile.tripwires import Arena, memory_bounded
from tests.sampling import sampled
from torchkeeper.artifacts import plain
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.reader import Reading

#: What a payload that no reader can read may be called.
UNREADABLE = {"payload-unreadable", "reader-crashed", "reader-stuck", "reader-starved"}


@pytest.fixture(scope="module")
def real(kept_291: Path) -> dict[str, list[bytes]]:
    """Real payloads of each kind that has some."""
    found: dict[str, list[bytes]] = {}
    for kind in ("fxgraph", "aotautograd", "dynamo"):
        files = sorted(path for path in (kept_291 / kind).rglob("*") if path.is_file())
        payloads = [data for path in files if (data := path.read_bytes())]  # the rest are locks
        found["pgo" if kind == "dynamo" else kind] = payloads
    return found


@sampled("name", pickles.BOMBS, most=9)
def test_a_bomb_is_broken_and_the_rest_goes_on(name: str, arena: Arena) -> None:
    bomb = Reading("fxgraph", ["bomb"], {"bomb": pickles.BOMBS[name]})
    good = Reading("triton", ["a.json"], {"a.json": b'{"name": "a"}'})
    with Watched() as reader:
        found = reader.facts([good, bomb, good], Report())
        reader.look()
    assert [one.get("name") for one in found] == ["a", None, "a"]
    assert found[1]["problem"] in UNREADABLE


@pytest.mark.slow
@sampled("name", pickles.BOMBS, most=9)
def test_a_bomb_does_a_plain_reader_no_harm(name: str, arena: Arena) -> None:
    with memory_bounded():
        found = arena.held(lambda: plain_value(pickles.BOMBS[name]))
    assert found is plain.NotPlain or isinstance(found, (int, type(None)))


def plain_value(data: bytes) -> object:
    """What ``plain.decode`` makes of it, or NotPlain."""
    try:
        return plain.decode(data)
    except plain.NotPlain:
        return plain.NotPlain


def test_no_gadget_runs(arena: Arena) -> None:
    trip = str(arena.trip / "x")
    with Watched() as reader:
        for gadget in pickles.gadgets(trip):
            for data in (gadget + b".", b"\x80\x04" + gadget + b"."):
                arena.held(lambda data=data: listed({PATHS["fxgraph"]: data}, reader))  # type: ignore[misc]
                with pytest.raises(plain.NotPlain):
                    arena.held(lambda data=data: plain.decode(data))  # type: ignore[misc]
        reader.look()


@pytest.mark.parametrize("kind", ["lists", "dicts", "tuples"])
def test_what_holds_itself_many_times_is_not_written_out(kind: str, arena: Arena) -> None:
    many = pickles.doubled(60, kind)
    code = pickles.made("m", "C", [(name, many) for name in ("co_name", "co_firstlineno")])
    codes = b"](" + pickles.made("m", "C", [("python_code", code)]) + b"e"
    dynamo = pickles.made("m", "C", [("codes", codes), ("fn_name", many)])
    entry = pickles.made(*pickles.FIELDS["precompile"][:2], [("dynamo", dynamo)])
    profile = b"}cm\nCodeId\n(" + pickles.text("f") + many + pickles.text("n") + b"t\x81Ns"
    with Watched() as reader:
        for path, data in (("precompile", entry), ("pgo", profile)):
            whole = {PATHS[path]: b"\x80\x04" + data + b"."}
            [found] = arena.held(lambda whole=whole: listed(whole, reader, True))  # type: ignore[misc]
            assert found.problem is None


def test_generated(run: Run, arena: Arena, real: dict[str, list[bytes]]) -> None:
    trip = str(arena.trip / "x")
    extra = pickles.gadgets(trip) + pickles.SNIPPETS
    originals = [(kind, data) for kind, some in real.items() for data in some]
    programs = [(kind, pickles.opcodes(data)) for kind, data in originals]

    def make(chance: Random, size: int) -> tuple[str, bytes, bool]:
        how, full = chance.randrange(4), chance.random() < 0.3
        kind = chance.choice(("fxgraph", "aotautograd", "precompile", "pgo"))
        if how == 0:
            kind, program = chance.choice(programs)
            return kind, pickles.rewritten(program, chance, size, extra), full
        if how == 1:
            kind, data = chance.choice(originals)
            return kind, mutated(data, chance, size, chance.choice(originals)[1]), full
        if how == 2:
            return kind, pickles.objects(kind, trip, chance, size), full
        kind = chance.choice(("model", "ondisk", kind))
        return kind, b"".join(chance.choices(extra, k=size)) + b".", full

    with Watched() as reader:

        def check(made: tuple[str, bytes, bool]) -> None:
            kind, data, full = made
            data = b"abcd" + data if kind == "ondisk" else data
            arena.held(lambda: listed({PATHS[kind]: data}, reader, full))
            if arena.count % 50 == 0:
                reader.look()

        run.many("pickles", make, check)


def test_plain_generated(run: Run, arena: Arena, real: dict[str, list[bytes]]) -> None:
    extra = pickles.gadgets(str(arena.trip / "x")) + pickles.SNIPPETS
    [profile] = [pickles.opcodes(data) for data in real["pgo"]]

    def make(chance: Random, size: int) -> bytes:
        program = profile[:500]
        if chance.random() < 0.7:
            program = pickles.opcodes(pickle.dumps(values.plain(chance), chance.randrange(6)))
        return pickles.rewritten(program, chance, size, extra)

    def check(data: bytes) -> None:
        arena.held(lambda: plain_value(data))

    run.many("plain", make, check)
