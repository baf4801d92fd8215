"""Made-up keys of vLLM's in a place, and the entries that they are."""

from __future__ import annotations

import time
from collections.abc import Mapping

from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.vllm import Factors, folder
from torchkeeper.engine.messages.verdicts import PieceTold, VllmRow
from torchkeeper.settings import vllm

PLACE = "/home/ada/.cache/vllm/torch_compile_cache"
_CODE, _COMPILER = "d3b07384d113edec49eaa6238ad5ff00", "c157a79031"
_MODEL = "/opt/lib/python3.12/site-packages/vllm/model_executor/models/llama.py"


def _key(env: Mapping[str, str], config: str, ranks: int) -> list[VllmRow]:
    values = {name: vllm.value(name, env) or "true" for name in vllm.hashed()}
    named = folder(Factors(values, config, _CODE, _COMPILER))
    rows: list[VllmRow] = []
    for rank in range(ranks):
        pieces: list[PieceTold] = [
            {"name": f"artifact_compile_range_{low}_{high}_subgraph_{number}", "low": low,
             "high": high, "index": number, "bytes": 212_000}
            for low, high in ((1, 8192), (16, 16)) for number in range(33 - 2 * (rank == 1))
        ]  # fmt: skip
        about = f"{named}/rank_{rank}_0/backbone"
        rows.append({
            "path": about, "folder": named, "rank": f"rank_{rank}_0", "part": "backbone",
            "named": named, "env": values,
            "hashes": {"config": config, "code": _CODE, "compiler": _COMPILER},
            "model": "llama", "sources": [_MODEL], "pieces": pieces, "files": len(pieces) + 3,
            "bytes": 14_310_000,
        })  # fmt: skip
    return rows


def rows() -> list[VllmRow]:
    """A key with two ranks, and one whose servers were told another port."""
    first = _key({"VLLM_USE_DEEP_GEMM": "0"}, "6512bd43d9", 2)
    port = {"VLLM_USE_DEEP_GEMM": "0", "VLLM_NIXL_SIDE_CHANNEL_PORT": "5601"}
    return first + _key(port, "6512bd43d9", 1)


def entries() -> list[Entry]:
    return [*_graphs(), *_pieces()]


def _pieces() -> list[Entry]:
    """Some of each rank; those of all have the same names."""
    return [
        Entry(
            kind="precompile", key=piece["name"],
            name=f"piece {piece['index']} for sizes 1 to 8192",
            size=piece["bytes"], files=1, mtime=time.time() - 86_400, torch="2.13.0+cu130",
            path=f"{row['path']}/{piece['name']}", verdict="unknown",
        )
        for row in rows() for piece in row["pieces"][:4]
    ]  # fmt: skip


def _graphs() -> list[Entry]:
    return [
        Entry(
            kind="code", key=row["path"], name="vLLM’s graph and key factors: llama", size=96_400,
            files=3, mtime=time.time() - 86_400, torch=None, device=None, compile_s=None,
            path=f"{row['path']}/cache_key_factors.json", sha256=None, problem=None,
        )
        for row in rows()
    ]  # fmt: skip
