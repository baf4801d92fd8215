"""The cause comes first, and from whole texts: of a run and of two entries alike."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, once
from tests.engine.test_running import Recorder, explained
from torchkeeper.artifacts import fxgraph
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words import causes, explaining
from torchkeeper.engine.explaining import explain
from torchkeeper.engine.messages.verdicts import Explained, ExplainParams
from torchkeeper.engine.running import held
from torchkeeper.engine.session import Session
from torchkeeper.verdict import comparing
from torchkeeper.verdict.comparing import Side

pytestmark = pytest.mark.torch

#: What is said of another dtype, and nothing else.
SAID = "All 2 inputs have dtype bfloat16 instead of float32"


@pytest.fixture(scope="session")
def casts(shared: Path, torch_python: str, header_folder: Path) -> Path:
    """What casts.py of tests/data left: ``float32`` and ``bfloat16`` are cache folders, ``trace``
    is that of the latter, with the former as it was before. Not to be changed.
    """

    def make(folder: Path) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
        env["TMPDIR"] = str(header_folder)
        for dtype in ("float32", "bfloat16"):
            own = {"TORCHINDUCTOR_CACHE_DIR": str(folder / dtype)}
            own |= {"TORCH_TRACE": str(folder / "trace")} if dtype == "bfloat16" else {}
            script = [torch_python, str(DATA / "casts.py"), dtype]
            done = subprocess.run(
                script, env={**env, **own}, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr

    return once(shared, "casts", make)


def graph_of(cache: Path) -> tuple[str, Any]:
    """The key of the only graph of a cache, and all that it tells."""
    [path] = [path for path in cache.glob("fxgraph/*/*/*") if path.is_file()]
    return path.parent.name, fxgraph.facts(path.read_bytes(), full=True)


@pytest.mark.slow
def test_of_a_run_with_another_dtype_that_is_the_cause(
    session: Session, casts: Path, tmp_path: Path
) -> None:
    cache = Path(shutil.copytree(casts / "float32", tmp_path / "cache"))
    held(session, {"place": str(cache)}, Report())
    _, [graph], _ = explained(session, casts / "trace", known=True)
    assert graph["cause"]["nearest"] == graph_of(casts / "float32")[0]
    assert causes.cause(graph) == SAID
    assert [row["factor"] for row in graph["cause"]["differences"] if row["follows"]] == ["gm"]


@pytest.mark.slow
def test_of_two_entries_it_is_the_cause_as_well(session: Session, casts: Path) -> None:
    report = Rows()
    own, other = (graph_of(casts / name)[0] for name in ("bfloat16", "float32"))
    params: ExplainParams
    params = {"place": str(casts / "bfloat16"), "key": own,
              "other": {"place": str(casts / "float32"), "key": other}}  # fmt: skip
    found: Explained = {**explain(session, params, report), "differences": report.told}
    assert explaining.sentence(found) == SAID
    assert [row["factor"] for row in report.told if row["follows"]] == ["gm"]


class Rows(Recorder):
    """Keeps the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        self.told += rows


@pytest.mark.slow
def test_no_operation_is_lacking_that_is_behind_a_cut(casts: Path) -> None:
    """Of a graph of twenty megabytes, no more than its beginning is known."""
    _, facts = graph_of(casts / "float32")
    [whole] = [value for _, name, value in facts["factors"] if name == "gm"]
    assert len(whole) > 20_000 and "tanh" in whole[-1000:]
    short = f"{whole[:4000]}\n… {len(whole) - 4000:,} characters more"
    for a, b in ((short, whole), (whole, short), (short, short)):
        found = comparing.difference(a, b)
        assert (found.only_a, found.only_b, found.cut) == ((), (), True)
        assert found.alike == 1.0
    # What is before the cut is compared as ever.
    other = short.replace("aten.mul.Tensor", "aten.div.Tensor", 1)
    found = comparing.difference(other, whole)
    assert (found.only_a, found.only_b) == (("div",), ("mul",))
    factors = [(digest, name, value) for digest, name, value in facts["factors"] if name != "gm"]
    sides = [Side([*factors, (text[:9], "gm", text)]) for text in (f"{short} ", whole)]
    for a, b in (sides, sides[::-1]):
        told = comparing.compare(a, b).to_json()
        sentence = explaining.sentence(told)
        assert "tanh" not in sentence and "lacks" not in sentence and "order" not in sentence


@pytest.mark.slow
def test_lines_of_a_model_are_not_lacking_where_not_all_are_known(casts: Path) -> None:
    _, facts = graph_of(casts / "float32")
    [gm] = [value for _, name, value in facts["factors"] if name == "gm"]
    whole = facts["graph"]
    short = f"{whole[:4000]}\n… {len(whole) - 4000:,} characters more"
    found = comparing.difference(gm, gm.replace("aten.amax", "aten.amin"), short, whole)
    assert (found.model_a, found.model_b, found.same_model) == ((), (), None)
