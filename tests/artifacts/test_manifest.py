"""The manifest: what it promises is checked field by field."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from torchkeeper.artifacts import manifest as reading
from torchkeeper.artifacts.builds import Build, Native
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.manifest import Listed, ListedFile, Manifest, begin, origin

SHA = "0" * 64


def parse(data: bytes) -> Manifest:
    """A whole manifest."""
    said = begin(data)
    return replace(said, entries=tuple(said.entries))


def written(made: Manifest) -> bytes:
    return b"".join(made.pieces())


def manifest(**changes: Any) -> bytes:
    entry = {"kind": "code", "key": "k", "sha256": SHA, "size": 1, "path": "p",
             "files": [{"path": "files/p", "size": 1, "sha256": SHA}]}  # fmt: skip
    whole = {"format": "torchcache", "format_version": 1, "made_by": "x", "made_in": None,
             "entries": [entry]}  # fmt: skip
    for name, value in changes.items():
        if name in entry:
            entry[name] = value
        else:
            whole[name] = value
    return json.dumps(whole).encode()


def test_round_trip_sorted() -> None:
    entries = [
        Listed("triton", "b", SHA, 3, "files/b", (ListedFile("files/b/x", 3, SHA),)),
        Listed("fxgraph", "z", "f" * 64, 1, "mega-cache.bin", ()),
        Listed("fxgraph", "z", "a" * 64, 1, "mega-cache.bin", ()),
    ]
    made_in = origin({"torch": "2.13.0", "gpus": ["A", 5], "threads": True, "more": {}})
    assert made_in
    assert (made_in["gpus"], made_in["threads"], "more" in made_in) == (["A"], None, False)
    data = written(Manifest("torchkeeper", made_in, tuple(entries)))
    back = parse(data)
    assert [(e.kind, e.sha256[0]) for e in back.entries] == [
        ("fxgraph", "a"), ("fxgraph", "f"), ("triton", "0"),
    ]  # fmt: skip
    assert written(Manifest(back.made_by, back.made_in, tuple(back.entries)[::-1])) == data


def named(name: object, kind: str = "aotautograd", files: tuple[Any, ...] = ()) -> bytes:
    entry = {"kind": kind, "key": "k", "sha256": SHA, "size": 1, "path": "mega-cache.bin",
             "files": list(files), "name": name}  # fmt: skip
    return manifest(entries=[entry])


def test_a_payload_may_have_the_one_name_that_its_layout_knows() -> None:
    assert [entry.name for entry in parse(named("entry")).entries] == ["entry"]
    assert [entry.name for entry in parse(manifest()).entries] == [""]


@pytest.mark.parametrize(
    "name", ["", "Entry", "entry\n", "entry/", "../entry", "a" * 51, "x" * 2000, None, 1, True,
             ["entry"], {"entry": 1}]
)  # fmt: skip
def test_any_other_name_is_damage(name: object) -> None:
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(named(name))


@pytest.mark.parametrize("kind", ["fxgraph", "pgo", "precompile", "autotune", "code", "triton"])
def test_a_name_for_what_has_none_is_damage(kind: str) -> None:
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(named("entry", kind))


def test_a_name_beside_those_of_files_is_damage() -> None:
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(named("entry", files=({"path": "files/p", "size": 1, "sha256": SHA},)))


def test_unknown_fields_are_ignored() -> None:
    assert len([*parse(manifest(future={"x": 1})).entries]) == 1


@pytest.mark.parametrize(("kind", "version"), [("triton", 1), ("aoti_eager", 2), ("jit", 3)])
def test_only_what_is_new_makes_it_newer(kind: str, version: int) -> None:
    built = Build("files/b", "files/c", None) if version == 2 else None
    file = ListedFile("files/b", 3, SHA, *((1, True) if version == 3 else ()))
    entry = Listed(kind, "b", SHA, 3, "files/b", (file,), built)
    data = written(Manifest("torchkeeper", None, (entry,)))
    assert json.loads(data)["format_version"] == version
    assert parse(data).entries == (entry,)


def test_a_newer_format_is_said() -> None:
    with pytest.raises(Problem) as caught:
        parse(manifest(format_version=4))
    assert caught.value.code == "bundle-newer"


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "zip"}, {"format_version": None}, {"format_version": "1"}, {"made_in": "here"},
        {"entries": {}}, {"entries": [1]}, {"kind": "lock"}, {"kind": 3}, {"key": None},
        {"sha256": "x"}, {"sha256": SHA.upper()[:-1] + "G"}, {"size": -1}, {"size": "1"},
        {"size": True}, {"size": 1.5}, {"path": None}, {"files": None}, {"files": [{}]},
        {"files": [{"path": "p", "size": -1, "sha256": SHA}]},
        {"path": "x" * 2000}, {"key": "x" * 2000},
        {"files": [{"path": "x" * 2000, "size": 1, "sha256": SHA}]},
    ],
)  # fmt: skip
def test_damage(changes: dict[str, Any]) -> None:
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(manifest(**changes))


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"[" * 100_000, b"null"])
def test_no_json(data: bytes) -> None:
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(data)


def two() -> Manifest:
    files = tuple(ListedFile(f'files/é"\\{name}\n', 7, SHA) for name in "ab")
    entries = (Listed("code", "k\u2028", SHA, 14, "p", files), Listed("pgo", "k", SHA, 1, "p", ()))
    made_in = origin({"torch": "2.13.0", "gpus": ["A \n ]", "B"], "threads": 2})
    return Manifest("torchkeeper 1", made_in, entries)


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("blanks", [True, False])
def test_it_is_read_piece_by_piece(
    piece: int, blanks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"".join(two().pieces())
    if blanks:  # letters of several bytes, and blanks where we write none
        data = data.replace(b"\\u00e9", "é".encode()).replace(b"\n  },", b"} \n\t, \r\n")
    monkeypatch.setattr(reading, "_PIECE", piece)
    monkeypatch.setattr(reading, "_OF_ENTRY", (16, 64, 1 << 20))
    said = begin(io.BytesIO(data))
    assert (said.made_in, list(said.entries)) == (two().made_in, list(two().entries))


NATIVE: Native = {
    "torch": "2.13.0+cpu", "torch_key": "ab", "python": "cpython-311", "compiler": "g++ 12",
    "libc": None, "cpu_flags": ["avx2", "fma"], "commands": ['g++ "a"\n \n "entries": ['],
}  # fmt: skip


def with_objects(elsewhere: bool = False) -> Manifest:
    files = tuple(ListedFile(f"files/ab/cab.main.{end}", 7, SHA) for end in ("cpp", "so"))
    built = Build(files[0].path, files[1].path, 0, elsewhere)
    entry = Listed("code", "cab", SHA, 14, files[0].path, files, built)
    return Manifest("torchkeeper 1", None, (entry,), NATIVE)


def _said(built: Build) -> dict[str, object]:
    return {k: v for k, v in built._asdict().items() if k != "elsewhere" or v}


@pytest.mark.parametrize(
    "made",
    [
        two(),
        Manifest("x", None, (Listed("aotautograd", "k", SHA, 1, "p", (), name="entry"),)),
        with_objects(),
        with_objects(elsewhere=True),
        Manifest("x", None, ()),
        Manifest("x", origin({}), ()),
        Manifest("x", None, (), None, SHA),
    ],
)
def test_it_is_written_as_json_would_write_it(made: Manifest) -> None:
    entries = [
        {"kind": e.kind, "key": e.key, "sha256": e.sha256, "size": e.size, "path": e.path,
         "files": [{"path": f.path, "size": f.size, "sha256": f.sha256} for f in e.files],
         **({"name": e.name} if e.name else {}),
         **({"built": _said(e.built)} if e.built else {})}
        for e in made.entries
    ]  # fmt: skip
    whole = {"format": "torchcache", "format_version": 1, "made_by": made.made_by,
             "made_in": made.made_in, "native": made.native, "mega_cache": made.mega_cache,
             "entries": entries}  # fmt: skip
    assert written(made) == json.dumps(whole, indent=1).encode() + b"\n"
    assert parse(written(made)).entries == parse(json.dumps(whole).encode()).entries
    assert parse(written(made)) == made


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"\n    }\n   ]\n  },', b'"\n    }\n   ]\n  }'),
        (b'"files": []\n  }', b'"files": []\n  },'),
        (b'"files": []\n  }', b'"files": []\n  } 5'),
        (b'"files": []\n  }', b'"files": []\n'),
        (b"}\n ]\n}\n", b"}\n ]\n}\n}"),
        (b'"entries": [', b'"entries": [,'),
        (b'"entries": [', b'"entries": [1,'),
    ],
)
def test_what_is_no_list_of_entries_is_damage(old: bytes, new: bytes) -> None:
    data = written(two())
    assert data.count(old) == 1
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(data.replace(old, new))


@pytest.mark.parametrize(
    "changes",
    [
        {"torch": None}, {"torch": 2}, {"torch_key": ""}, {"python": "x" * 500}, {"compiler": []},
        {"libc": 2.36}, {"cpu_flags": "avx2"}, {"cpu_flags": [1]}, {"cpu_flags": ["x"] * 10_000},
        {"commands": None}, {"commands": [{}]}, {"commands": ["x" * 100_000]},
        {"commands": ["x"] * 1000},
    ],
)  # fmt: skip
def test_a_claim_that_is_nonsense_is_none(changes: dict[str, Any]) -> None:
    back = parse(manifest(native={**NATIVE, **changes}))
    assert (back.native, len([*back.entries])) == (None, 1)


@pytest.mark.parametrize("native", [None, 3, "g++", [], [[]], {}])
def test_no_claim_is_none_either(native: object) -> None:
    assert parse(manifest(native=native)).native is None


@pytest.mark.parametrize(
    "built",
    [
        None, 1, [], {}, {"source": "a", "object": "b"},
        {"source": "a", "object": "b", "command": -1},
        {"source": "a", "object": "b", "command": True},
        {"source": "a", "object": "b", "command": "0"},
        {"source": "a", "object": "b", "command": 1 << 70},
        {"source": "a", "object": "a", "command": 0},
        {"source": 1, "object": "b", "command": 0}, {"source": "a", "object": [], "command": 0},
        {"source": "a", "object": "b", "command": 0, "elsewhere": 1},
    ],
)  # fmt: skip
def test_a_making_that_is_nonsense_is_none(built: object) -> None:
    whole = json.loads(written(with_objects()))
    whole["entries"][0]["built"] = built
    back = parse(json.dumps(whole).encode())
    assert back.native == NATIVE
    assert [entry.built for entry in back.entries] == [None]
