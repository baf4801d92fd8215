"""Bundles for an environment: what a manifest may claim, nonsense and lies among it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ssh.elsewhere import ANYWHERE
from tests.stores.building import NATIVE, pairs, rename
from tests.stores.bundles.test_bundle import edit
from torchkeeper.artifacts.builds import Claims, Kernels
from torchkeeper.artifacts.code import key_of
from torchkeeper.artifacts.report import Report
from torchkeeper.client import carrying
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import bundles, renaming
from torchkeeper.engine.messages.entries import NamesRow
from torchkeeper.engine.protocol import Message
from torchkeeper.engine.session import Session
from torchkeeper.stores.bundles import bundle as reading
from torchkeeper.stores.bundles import parts
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.verdict import machine
from torchkeeper.verdict.probed import Env

FIRST, SECOND = (one["extra"] for one in NATIVE["commands"])
#: A target with the same torch elsewhere: the texts in its names are others.
HERE: Any = {**NATIVE, "cpu_flags": machine.cpu_flags(), "commands": [
    {**one, "extra": one["extra"].replace("/home/me", "/opt")} for one in NATIVE["commands"]
]}  # fmt: skip
THERE: Any = {**NATIVE, "cpu_flags": machine.cpu_flags()}
FACTS: Env = {"torch": NATIVE["torch"], "threads": 2, "cpu_flags": HERE["cpu_flags"],
              "libc": NATIVE["libc"], "native": HERE}  # fmt: skip
Change = Callable[[Any], None]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        engine.call("know", {"python": "/here", "env": FACTS})
        yield engine


@pytest.fixture(scope="module", params=["kept_291", "filled"])
def bundle(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Of objects that record nothing, and of those that record for which CPU they are; and the
    cache, all whose objects were built by the first command.
    """
    folder = tmp_path_factory.mktemp(request.param)
    cache = Path(shutil.copytree(request.getfixturevalue(request.param), folder / "cache"))
    rename(cache, FIRST)
    with Engine() as engine:
        output = str(folder / "b.torchcache")
        params = {"place": str(cache), "output": output, "builders": THERE,
                  "secrets": "allow"}  # fmt: skip
        done = engine.call("export", params)
    assert done["objects"] == done["described"] == len(pairs(cache))
    return Path(output), cache


def records(bundle: tuple[Path, Path]) -> bool:
    return "filled" in str(bundle[0])


def look(engine: Engine, file: Path, into: Path, **params: Any) -> tuple[Any, list[Any]]:
    """What an import would come to, and what would be left."""
    told: list[Message] = []
    found = engine.call("compare", {**params, "files": [str(file)], "into": str(into)}, told.append)
    [counts] = found["files"]
    left = [message.body["left"] for message in told if "left" in message.body]
    assert counts["left"]["entries"] + counts["differs"]["entries"] == len(left)
    assert {one["code"] for one in left} <= set(CATALOGUE)
    return {**counts, "renamed": found["renamed"]}, left


def bring(engine: Engine, file: Path, into: Path, **params: Any) -> tuple[Any, list[Any]]:
    """The results of an import and what was left; a comparison before has said the same."""
    foretold, left = look(engine, file, into, **params)
    told: list[Message] = []
    done = engine.call("import", {**params, "files": [str(file)], "into": str(into)}, told.append)
    assert foretold["new"]["entries"] == done["entries"]
    assert foretold["there"]["entries"] == done["exists"]
    assert foretold["renamed"] == done["renamed"]
    assert [message.body["left"] for message in told if "left" in message.body] == left
    return done, left


def says(**changes: Any) -> Change:
    return lambda said: said["native"].update(changes)


def misdirect(said: Any) -> None:
    for entry in said["entries"]:
        if "built" in entry:
            entry["built"]["command"] = 10**6


CLAIMS: dict[str, tuple[Change, str]] = {
    "another torch": (says(torch="2.8.0"), "object-torch"),
    "other sources of torch": (says(torch_key="cd34"), "object-torch"),
    "another Python": (says(python="cpython-310-x86_64-linux-gnu"), "object-python"),
    "another compiler": (says(compiler="clang version 17.0.1"), "object-compiler"),
    "a newer libc": (says(libc="glibc 99.1"), "object-libc"),
    "another command": (says(commands=["None {cxx} i -Ofast"]), "object-command"),
    "another CPU": (says(cpu_flags=["sse4_1"]), "object-cpu"),
}


@ANYWHERE
def test_what_was_built_otherwise_is_left_out_and_the_rest_is_placed(
    bundle: tuple[Path, Path], engine: Engine, tmp_path: Path
) -> None:
    file, cache = bundle
    objects = {str(path.relative_to(cache)) for path in pairs(cache)}
    other = tmp_path / "other.torchcache"
    # Of those that record for which CPU they are, only what is said of that differs.
    for name in ["another CPU"] if records(bundle) else CLAIMS:
        change, code = CLAIMS[name]
        if records(bundle):
            code = "object-misclaimed"
        edit(file, other, change)
        counts, left = look(engine, other, tmp_path / "t", env="/here")
        assert {one["path"] for one in left} == objects, name
        assert Counter(one["code"] for one in left) == {code: len(objects)}, name
        assert counts["left"]["entries"] == len(objects)
        assert counts["new"]["entries"] > 10
    done, again = bring(engine, other, tmp_path / "t", env="/here")
    assert (done["entries"], again) == (counts["new"]["entries"], left)
    assert not list((tmp_path / "t").rglob("*.so"))
    assert list((tmp_path / "t" / "fxgraph").iterdir())


NONSENSE: dict[str, Change] = {
    "no claim": lambda said: said.pop("native"),
    "null": lambda said: said.update(native=None),
    "a list": lambda said: said.update(native=[[[]]]),
    "no flags": says(cpu_flags=None),
    "flags of everything": says(cpu_flags=[{}, 1.5]),
    "numbers": says(torch=2, commands=[1]),
    "too long": says(commands=["x" * 10**6]),
    "no command": says(commands=[]),
    "a command that is not there": misdirect,
}


@ANYWHERE
def test_nonsense_is_as_if_nothing_was_said(
    bundle: tuple[Path, Path], engine: Engine, tmp_path: Path
) -> None:
    file, cache = bundle
    objects = [str(path.relative_to(cache)) for path in pairs(cache)]
    other = tmp_path / "other.torchcache"
    for name in ["null"] if records(bundle) else NONSENSE:
        edit(file, other, NONSENSE[name])
        _, left = look(engine, other, tmp_path / "t", env="/here")
        wanted = [] if records(bundle) else objects
        assert {one["path"] for one in left} == set(wanted), name
        assert {one["code"] for one in left} <= {"object-unproven"}, name
    done, left = bring(engine, other, tmp_path / "t", env="/here")
    assert (done["renamed"], len(left)) == (0, len(wanted))
    placed = [path for path in objects if (tmp_path / "t" / path).exists()]
    assert placed == [path for path in objects if path not in wanted]
    assert list((tmp_path / "t" / "fxgraph").iterdir())


@ANYWHERE
def test_kernels_for_programs_with_headers_are_no_headers(
    bundle: tuple[Path, Path], engine: Engine, tmp_path: Path
) -> None:
    file, cache = bundle
    other = tmp_path / "other.torchcache"

    def kernels(said: Any) -> None:
        marks = f" {parts.OF_KERNEL} {parts.HEADERS}"
        said["native"]["commands"] = [one + marks for one in said["native"]["commands"]]

    if records(bundle):
        return
    edit(file, other, kernels)
    about = engine.call("list", {"place": str(other)})
    assert about["headers"] == 0, "precompiled headers are counted apart, and there are none"
    assert carrying.claims_of(about)["unportable"] == len(pairs(cache))
    assert carrying.claims_of(about)["portable"] == 0


@ANYWHERE
def test_objects_get_the_names_that_were_told(
    bundle: tuple[Path, Path], engine: Engine, tmp_path: Path
) -> None:
    file, cache = bundle
    [about] = engine.call("origin", {"files": [str(file)]})["files"]
    assert (about["built"], about["objects"]) == (len(pairs(cache)),) * 2
    assert "commands" not in about["native"]
    assert (about["unportable"], about["portable"]) == (0, 0), "the commands are no real ones"
    assert carrying.asks(about, FACTS)
    other: Any = {**HERE, "torch_key": "?"}
    assert not carrying.asks(about, {**FACTS, "native": other})
    extra = HERE["commands"][0]["extra"]
    rows: list[NamesRow] = [
        {"file": str(file), "path": str(source.relative_to(cache)),
         "key": key_of(source.read_text(), extra)}
        for source in pairs(cache)
    ]  # fmt: skip
    # Names of another environment are forgotten.
    others: list[NamesRow] = [{**row, "key": "c" + "a" * 51} for row in rows]
    for old in (others, rows):
        for params in carrying.requests([str(file)], old):
            engine.call("named", params)
    done, left = bring(engine, file, tmp_path / "t", env="/here")
    assert (done["renamed"], left) == (len(rows), [])
    for row, source in zip(rows, pairs(cache), strict=True):
        rest = source.name.partition(".")[2]
        new = tmp_path / "t" / row["key"][1:3] / f"{row['key']}.{rest}"
        assert new.read_bytes() == source.read_bytes()
        assert new.with_suffix(".so").read_bytes() == source.with_suffix(".so").read_bytes()
    again, _ = bring(engine, file, tmp_path / "t", env="/here")
    assert (again["entries"], again["renamed"]) == (0, 0)


@ANYWHERE
def test_what_another_machine_put_into_a_shared_cache_is_placed_where_it_runs(
    fixture_cache: Path, engine: Engine, tmp_path: Path
) -> None:
    rename(fixture_cache, FIRST)
    objects = [source.with_suffix(".so") for source in pairs(fixture_cache)]
    recorded = objects[::2]
    for path in recorded:
        path.write_bytes(path.read_bytes() + b"GNU C++17 12.2.0 -march=x86-64-v4 -g1\0")
    mine = sorted({"fxsr", "mmx", "sse", "sse2"})
    large = sorted({*mine, "cx16", "lahf_lm", "pni", "popcnt", "ssse3", "sse4_1", "sse4_2", "abm",
                    "movbe", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "avx512bw", "avx512cd",
                    "avx512dq", "avx512f", "avx512vl"})  # fmt: skip
    first, again = tmp_path / "b.torchcache", tmp_path / "again.torchcache"
    builders = {**NATIVE, "cpu_flags": mine}
    params = {"place": str(fixture_cache), "output": str(first), "builders": builders}
    params["secrets"] = "allow"
    assert engine.call("export", params)["described"] == len(objects)
    engine.call("export", {"place": str(first), "output": str(again), "secrets": "allow"})
    assert again.read_bytes() == first.read_bytes()
    for name, flags in (("/small", mine), ("/large", large)):
        native = {**HERE, "cpu_flags": flags}
        facts = {**FACTS, "cpu_flags": flags, "native": native}
        engine.call("know", {"python": name, "env": facts})
        _, left = look(engine, again, tmp_path / "t", env=name)
        # Those that record nothing are for the machine that exported them; the rest tell.
        out = recorded if name == "/small" else [path for path in objects if path not in recorded]
        assert {one["key"] for one in left} == {path.name.partition(".")[0] for path in out}
        assert {one["code"] for one in left} == {"object-cpu"}


@ANYWHERE
def test_a_bundle_of_a_bundle_claims_no_more_than_that(
    bundle: tuple[Path, Path], engine: Engine, tmp_path: Path
) -> None:
    file, cache = bundle
    old, again, copied = (tmp_path / f"{name}.torchcache" for name in ("old", "again", "copied"))
    edit(file, old, lambda said: said.update(native=None))
    params = {"place": str(old), "builders": THERE, "secrets": "allow"}
    planned = engine.call("plan_export", params)
    done = engine.call("export", {**params, "output": str(again)})
    assert (done["objects"], done["described"]) == (len(pairs(cache)), 0)
    assert planned["maker"] == done["maker"] == {"what": "bundle", "torch": None}
    params["place"] = str(file)
    claimed = {"what": "bundle", "torch": NATIVE["torch"]}
    assert engine.call("plan_export", {**params, "builders": None})["maker"] == claimed
    params["place"] = str(old)
    engine.call("copy", {**params, "into": str(copied)})
    assert again.read_bytes() == copied.read_bytes()
    _, left = look(engine, again, tmp_path / "t", env="/here")
    assert len(left) == (0 if records(bundle) else len(pairs(cache)))
    assert {one["code"] for one in left} <= {"object-unproven"}


@ANYWHERE
def test_without_an_environment_names_are_kept_and_the_machine_decides(
    bundle: tuple[Path, Path], engine: Engine, tmp_path: Path
) -> None:
    file, cache = bundle
    done, left = bring(engine, file, tmp_path / "t")
    assert (done["renamed"], left) == (0, [])
    assert all((tmp_path / "t" / p.relative_to(cache)).exists() for p in pairs(cache))
    edit(file, tmp_path / "other.torchcache", says(cpu_flags=["sse4_1"], torch="1.0"))
    _, left = bring(engine, tmp_path / "other.torchcache", tmp_path / "o")
    code = "object-misclaimed" if records(bundle) else "object-cpu"
    assert {one["code"] for one in left} == {code}


@ANYWHERE
def test_what_is_asked_wrongly_is_refused(bundle: tuple[Path, Path], engine: Engine) -> None:
    file = str(bundle[0])
    with pytest.raises(UserError) as caught:
        engine.call("import", {"file": file, "into": "/x", "env": "/forgotten"})
    assert caught.value.code == "environment-forgotten"
    for rows in ([["a", 1]], [[1, "a"]], "ab", [["a"]], 5):
        with pytest.raises(UserError):
            engine.call("named", {"file": file, "rows": rows, "first": True})


def test_what_is_advised() -> None:
    plain: Kernels = {"unportable": 2, "portable": 0}
    [said] = carrying.advice([plain], "/py")
    assert said.endswith("torchkeeper prepare --env /py")
    assert carrying.advice([plain], None) == []
    assert carrying.advice([{"unportable": 0, "portable": 0}], "/py") == []
    portable = carrying.advice([{"unportable": 0, "portable": 2}], None)
    assert portable[-1].strip() == "export TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=0"
    assert (
        len(carrying.advice([plain, {"unportable": 0, "portable": 2}], "/py")) == len(portable) + 1
    )


def test_many_names_are_told_in_several_requests() -> None:
    rows: list[NamesRow]
    rows = [{"file": "/a", "path": str(number), "key": "k"} for number in range(1001)]
    told = list(carrying.requests(["/a", "/b"], [*rows, {"file": "/c", "path": "p", "key": "k"}]))
    assert [(one["file"], len(one["rows"]), one["first"]) for one in told] == [
        ("/a", 500, True), ("/a", 500, False), ("/a", 1, False), ("/b", 0, True),
    ]  # fmt: skip
    rows = [{"file": "/a", "path": str(number) + "é" * 1000, "key": "k"} for number in range(500)]
    told += carrying.requests(["/a"], rows)
    assert sum(len(one["rows"]) for one in told) == 1501
    assert all(len(json.dumps(one)) < 1 << 20 for one in told)


def test_what_an_interpreter_says_that_are_no_names_is_not_heard() -> None:
    good = {"file": "/a", "path": "ab/c.cpp", "key": "c" * 52}
    rows: list[NamesRow] = []
    said = [
        {**good, "file": []}, {**good, "file": ["/a"]}, {**good, "path": 5}, {**good, "key": None},
        {**good, "key": "c" * 5000}, {**good, "path": "p" * 5000}, {**good, "path": ""},
        {}, [], 7, None, {**good, "more": "x"},
    ]  # fmt: skip
    two: Claims = {"native": None, "objects": 2, "built": 2, "unportable": 0, "portable": 0}
    one: Claims = {**two, "built": 1}
    carrying.take(rows, said, [two])
    assert rows == [good]
    carrying.take(rows, [good] * 5, [one, one])
    assert rows == [good] * 2


@ANYWHERE
def test_eager_kernels_for_another_torch_or_cpu_stay_out(
    other_kinds: Path, engine: Engine, tmp_path: Path
) -> None:
    """Each with the reason; PyTorch itself would load any."""
    cache, file, other = tmp_path / "cache", tmp_path / "b.torchcache", tmp_path / "o.torchcache"
    shutil.copytree(other_kinds / "cache" / "aoti_eager", cache / "aoti_eager")
    done = engine.call(
        "export",
        {
            "place": str(cache),
            "output": str(file),
            "builders": THERE,
            "select": {"filter": "kind:aoti_eager"},
        },
    )
    assert (done["entries"], done["objects"], done["described"]) == (3, 3, 3)
    placed, left = bring(engine, file, tmp_path / "t", env="/here")
    assert (placed["entries"], placed["renamed"], left) == (3, 0, [])
    for name, code in (
        ("another torch", "object-torch"),
        ("other sources of torch", "object-torch"),
        ("a newer libc", "object-libc"),
        ("another CPU", "object-misclaimed"),
    ):
        edit(file, other, CLAIMS[name][0])
        counts, left = look(engine, other, tmp_path / "u", env="/here")
        assert {one["code"] for one in left} == {code}, name
        assert (counts["left"]["entries"], counts["new"]["entries"]) == (3, 0)
        # What is there is there, whatever is said of it.
        assert look(engine, other, tmp_path / "t", env="/here")[0]["there"]["entries"] == 3
    edit(file, other, says(python="cpython-310-x86_64-linux-gnu", compiler="clang version 17.0.1"))
    assert look(engine, other, tmp_path / "u", env="/here")[0]["new"]["entries"] == 3


def test_a_bundle_that_was_looked_at_is_read_once(
    bundle: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, into, read = str(bundle[0]), str(tmp_path / "t"), list[str]()

    class Counted(Bundle):
        def __init__(self, path: str, report: Report) -> None:
            read.append(path)
            super().__init__(path, report)

    for module in (reading, bundles):
        monkeypatch.setattr(module, "Bundle", Counted)
    session = Session()
    renaming.origin(session, {"files": [file]}, Report())
    assert bundles.import_(session, {"files": [file], "into": into}, Report())["entries"]
    assert read == [file]
    assert bundles.import_(session, {"files": [file], "into": into}, Report())["exists"]
    assert read == [file, file]
    session.close()
