"""Bundles: a good one of everything that would run, and what can be made of it."""

from __future__ import annotations

import hashlib
import json
from random import Random
from typing import Any

from tests.hostile import facts, megacaches, mutations, pickles, values, zips
from tests.hostile.listing import HEX, KEY, PATHS
from tests.hostile.zips import Member
from torchkeeper.artifacts.aoti_eager import alone, digest
from torchkeeper.artifacts.layout import payload_name

SEVERAL = ("triton", "code", "aoti_eager", "jit")


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parts(
    trip: str,
) -> tuple[list[tuple[str, str, dict[str, bytes]]], list[tuple[str, str, bytes]]]:
    """What a bundle holds that leaves ``trip`` where it runs: (kind, key, files), and (type, key,
    payload) of its mega-cache.
    """
    kernel = f"triton/0/{'A' * 52}"
    item = {**facts.GOOD["eager"][0], "meta_info": facts.GOOD["eager"][0]["meta_info"][:2]}
    eager = f"aoti_eager/aten/cpu/add.json#{digest(item)}"
    text = alone("aten::add", "cpu", item)
    compiled = f"tilelang/0.1.15/linux-x86_64/kernels/{HEX}"
    group = json.dumps({"child_paths": {"k.cubin": "k.cubin", "k.json": "k.json"}}).encode()
    files = [
        ("code", f"c{KEY}", {PATHS["module"]: facts.source(trip), PATHS["object"]: facts.PRODUCER}),
        ("triton", "A" * 52, {
            f"{kernel}/k.json": json.dumps(facts.GOOD["triton"]).encode(),
            f"{kernel}/k.cubin": facts.PRODUCER, f"{kernel}/__grp__k.json": group,
        }),
        ("autotune", HEX, {PATHS["autotune"]: b'{"XBLOCK": 1}'}),
        ("aoti_eager", f"add#{digest(item)}", {
            eager: text, f"aoti_eager/aten/cpu/lib/aa/c{KEY}.wrapper.so": facts.PRODUCER,
        }),
        ("jit", HEX, {
            f"{compiled}/manifest.json": b'{"files": {}}',
            f"{compiled}/executable.so": facts.PRODUCER,
        }),
    ]  # fmt: skip
    gadget = b"\x80\x04" + pickles.gadgets(trip)[0].removeprefix(b"\x80\x04") + b"."
    mega = [("inductor", f"f{KEY}", gadget), ("aot_autograd", f"a{KEY}", gadget),
            ("pgo", "job:0:", gadget), ("precompile", HEX, gadget)]  # fmt: skip
    return files, mega


def _told(kind: str, key: str, files: dict[str, bytes]) -> dict[str, Any]:
    more = {"mtime_ns": 1, "executable": True} if kind == "jit" else {}
    listed = [{"path": f"files/{path}", "size": len(data), "sha256": sha(data), **more}
              for path, data in files.items()]  # fmt: skip
    pairs = sorted([path.rpartition("/")[2], sha(data)] for path, data in files.items())
    whole = pairs[0][1] if len(pairs) == 1 else sha(json.dumps(pairs).encode())
    path = min(files) if kind == "code" else listed[0]["path"]
    return {"kind": kind, "key": key, "sha256": whole, "size": sum(map(len, files.values())),
            "path": path, "files": listed}  # fmt: skip


def manifest(
    files: list[tuple[str, str, dict[str, bytes]]], mega: list[tuple[str, str, bytes]]
) -> dict[str, Any]:
    """The manifest of a bundle that says the truth."""
    kinds = {"inductor": "fxgraph", "aot_autograd": "aotautograd"}
    entries = [_told(*one) for one in files]
    entries += [
        {"kind": kinds.get(name, name), "key": key, "sha256": sha(data), "size": len(data),
         "path": "mega-cache.bin", "files": [],
         **({"name": "entry"} if name == "aot_autograd" else {})}
        for name, key, data in mega
    ]  # fmt: skip
    origin = {"torch": "2.13.0", "torch_key": "k", "python": "p", "compiler": "g++", "libc": "l",
              "threads": 2, "cpu_flags": ["avx2"], "commands": ["g++ -O3"]}  # fmt: skip
    made_in = {"torch": "2.13.0", "torch_git": "g", "cuda": None, "gpus": ["H200"], "threads": 2}
    return {"format": "torchcache", "format_version": 3, "made_by": "hostile", "made_in": made_in,
            "native": origin, "entries": entries}  # fmt: skip


def members(trip: str) -> tuple[dict[str, Any], list[Member]]:
    """The manifest and the other members of a good bundle."""
    files, mega = parts(trip)
    found = [Member(f"files/{path}".encode(), data, 8 if kind == "code" else 0)
             for kind, _, some in files for path, data in some.items()]  # fmt: skip
    packed = megacaches.packed((name, [(key, data)]) for name, key, data in mega)
    return manifest(files, mega), [*found, Member(b"mega-cache.bin", packed)]


def whole(said: dict[str, Any], others: list[Member], indent: int | None = 1) -> bytes:
    """A bundle of a manifest and other members."""
    text = json.dumps(said, indent=indent).encode()
    return zips.packed([Member(b"manifest.json", text), *others])


def with_other_manifest(trip: str, chance: Random, size: int) -> bytes:
    """A bundle whose manifest says other things; some of them are there then."""
    said, others = members(trip)
    how = chance.randrange(6)
    if how == 0:
        text = chance.choice(values.ODD_JSON)
        return zips.packed([Member(b"manifest.json", text), *others])
    if how == 1:
        text = json.dumps(said, indent=chance.choice((None, 1, 2))).encode()
        text = mutations.mutated(text, chance, size, json.dumps(values.plain(chance)).encode())
        return zips.packed([Member(b"manifest.json", text), *others])
    if how in (2, 3):
        # A name that leads elsewhere, with everything that is needed for it to be taken.
        files, mega = parts(trip)
        for _ in range(size):
            at = chance.randrange(len(files))
            kind, key, some = files[at]
            path = chance.choice(list(some))
            new = elsewhere(path, trip, chance)
            files[at] = kind, key, {new if p == path else p: data for p, data in some.items()}
        said = manifest(files, mega)
        others = [Member(f"files/{path}".encode("utf-8", "surrogatepass"), data)
                  for _, _, some in files for path, data in some.items()]  # fmt: skip
        packed = megacaches.packed((name, [(key, data)]) for name, key, data in mega)
        return whole(said, [*others, Member(b"mega-cache.bin", packed)])
    if how == 4:
        said["entries"] = values.changed(said["entries"], chance, size)
    else:
        said = values.changed(said, chance, size)
    return whole(said, others, chance.choice((None, 1)))


def elsewhere(path: str, trip: str, chance: Random) -> str:
    """A path that a file of a bundle must not have, made of one that it may."""
    above, _, name = path.rpartition("/")
    return chance.choice((
        trip, f"/{path}", f"{above}/../../../../../../{name}", f"../{path}", f"{above}//{name}",
        f"{above}/./{name}", f"{above}/{values.text(chance)}", f"{values.text(chance)}/{name}",
        f"{path}\0", f"{path}\n", f"{path}/", path.upper(), f"{above}/.{name}", f"{above}\\{name}",
        f"{path}/x", name, f"x/{path}", f"{path[:4]}\u202e{path[4:]}", f"locks/{name}",
        f".torchkeeper-trash/{name}", f"{above}/{name}.lock", path.replace("aa/", "../"),
    ))  # fmt: skip


def with_other_zip(trip: str, chance: Random, size: int) -> bytes:
    """A bundle whose zip lies: in its headers, its names, its lengths, or because it was cut."""
    said, others = members(trip)
    every = [Member(b"manifest.json", json.dumps(said, indent=1).encode()), *others]
    how = chance.randrange(6)
    if how == 0:
        data = whole(said, others)
        return mutations.mutated(data, chance, size, data, zips.headers(data))
    if how == 1:
        data = whole(said, others)
        return data[: chance.randrange(len(data))]
    end: dict[str, int] = {}
    for _ in range(size):
        one = chance.choice(every)
        lie = chance.choice(mutations.NUMBERS) & 0xFFFFFFFF
        what = chance.randrange(9)
        if what == 0:
            one.said[chance.choice(("crc", "packed", "size", "offset", "attributes"))] = lie
        elif what == 1:
            one.said[chance.choice(("flags", "method", "disk"))] = lie & 0xFFFF
        elif what == 2:
            large = [chance.choice(mutations.NUMBERS) for _ in range(3)]
            one.said |= {"size": 0xFFFFFFFF, "packed": 0xFFFFFFFF, "offset": 0xFFFFFFFF}
            one.said["extra"] = zips.zip64(*large)[: chance.choice((28, 20, 12, 4, 3, 1))]
        elif what == 3:
            one.local = values.text(chance).encode("utf-8", "surrogatepass")
        elif what == 4:
            one.name = values.text(chance).encode("utf-8", "surrogatepass")
        elif what == 5:
            every.append(one)
        elif what == 6:
            one.said["attributes"] = chance.choice((0o120777, 0o040755, 0o020666, 0o104755)) << 16
        elif what == 7:
            end[chance.choice(("count", "size", "offset"))] = lie
        else:
            one.method = chance.choice((0, 8, 8, 12, 14, 93))
    return zips.packed(every, end, b"x" * chance.choice((0, 0, 10, 65535)))


def payload_path(kind: str, data: bytes) -> str:
    """Where a graph's payload comes to lie."""
    key = {"fxgraph": f"aa/f{KEY}", "aotautograd": f"a{KEY}"}[kind]
    return f"{kind}/{key}/{payload_name(sha(data))}"
