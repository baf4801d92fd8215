"""Keeps what ``one_change.py`` made, in ``changes.json``: of each change and graph, the factors
that any change touches and a few others, by their numbers in one list, and the graph's text.

``keep_changes.py FOLDER`` reads the cache folders ``FOLDER/CHANGE`` that it filled, one for each
change; those that are missing are made now, with this interpreter, which takes half a minute each.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "app"))

from torchkeeper.artifacts import fxgraph  # noqa: E402

CHANGES = ("none", "shape", "one", "dynamic", "dtype", "half", "width", "line", "max_autotune",
           "threads", "precision", "deterministic", "tag", "inference")  # fmt: skip
#: Factors that are kept although nothing here changes them.
ALSO = ("torch_version", "system_info[hash]", "inductor_config[freezing]", "fx_kwargs[layout_opt]",
        "fx_kwargs[is_backward]")  # fmt: skip


def graphs(cache: Path, change: str) -> dict[str, dict[str, object]]:
    """The facts of the forward and the backward graph of a change, which is compiled if need be."""
    if not cache.exists():
        env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
        subprocess.run([sys.executable, str(HERE / "one_change.py"), change], env=env, check=True)
    found = {}
    for path in (cache / "fxgraph").glob("*/*/*"):
        facts = fxgraph.facts(path.read_bytes(), full=True)
        backward = dict((name, value) for _, name, value in facts["factors"])  # noqa: C402
        half = "backward" if backward["fx_kwargs[is_backward]"] == "True" else "forward"
        found[half] = facts
    assert sorted(found) == (["forward"] if change == "inference" else ["backward", "forward"])
    return found


def main(folder: Path) -> None:
    """Write changes.json."""
    made = {change: graphs(folder / change, change) for change in CHANGES}
    base = made["none"]
    names = {"gm", *ALSO}
    for halves in made.values():
        for half, facts in halves.items():
            own = {name: digest for digest, name, _ in facts["factors"]}
            other = {name: digest for digest, name, _ in base[half]["factors"]}
            names |= {n for n in own.keys() | other.keys() if own.get(n) != other.get(n)}
    pool: dict[tuple[str, str, str], int] = {}

    def numbers(factors: list[tuple[str, str, str]]) -> list[int]:
        kept = [f for f in factors if f[1] in names or f[1].startswith("example_inputs[")]
        return [pool.setdefault(tuple(factor), len(pool)) for factor in kept]

    graphs_of = {
        change: {
            half: {
                "torch": facts["torch"],
                "device": facts["device"],
                "graph": facts["graph"],
                "factors": numbers(facts["factors"]),
            }
            for half, facts in sorted(halves.items(), reverse=True)
        }
        for change, halves in made.items()
    }
    kept = {"factors": list(pool), "changes": graphs_of}
    text = json.dumps(kept, indent=0, ensure_ascii=True)
    (HERE / "changes.json").write_text(text + "\n")


main(Path(sys.argv[1]))
