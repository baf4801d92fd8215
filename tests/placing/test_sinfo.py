"""What sinfo tells of nodes, by which others may have meant us ill."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchkeeper.client.words.problems import UserError
from torchkeeper.fleet.engine import FleetEngine
from torchkeeper.placing import sinfo
from torchkeeper.placing.slurm import FOLDER, Slurm

TOLD = """\
cpu-1|main*|idle|64|257000|(null)|avx512,rome|none
cpu-1|long|idle|64|257000|(null)|avx512,rome|none
gpu-1|gpu|mixed|128|1031000|gpu:h100:8(S:0-1),nvme:1|(null)|none
gpu-2|gpu|down*|128|1031000|gpu:h100:8(S:0-1)|(null)|Not responding | twice
gpu-3|gpu|idle~|96|515000|gpu:2|(null)|none
gpu-4|gpu|idle$|96|515000|gpu:a100:4,gpu:a100_3g.20gb:8|(null)|none
gpu-5|gpu|drained|96|515000|gpu:a100:4|(null)|bad fan
"""


def test_nodes_of_a_partition() -> None:
    rows = {row.name: row for row in sinfo.rows_of(TOLD, "gpu")}
    assert list(rows) == ["gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5"]
    assert [row.gpus for row in rows.values()] == [
        ("h100", 8), ("h100", 8), ("", 2), ("a100_3g.20gb", 8), ("a100", 4),
    ]  # fmt: skip
    assert [row.state for row in rows.values()] == [
        "", "down* (Not responding | twice)", "", "idle$", "drained (bad fan)",
    ]  # fmt: skip
    assert rows["gpu-1"].labels == {
        "partition": "gpu",
        "gres": "gpu:h100:8(S:0-1),nvme:1",
        "gpu": "h100",
        "gpus": "8",
        "cpus": "128",
        "memory": "1031000 MB",
    }


def test_without_a_name_it_is_the_default_partition() -> None:
    (row,) = sinfo.rows_of(TOLD, "")
    assert (row.name, row.partition, row.features) == ("cpu-1", "main", "avx512,rome")
    assert not sinfo.rows_of(TOLD, "missing")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "|" * 20,
        "n1",
        "--wrap=x|p|idle|1|1|||",
        "n[1-4]|p|idle|1|1|||",
        "n1,n2|p|idle|1|1|||",
        "n1 n2|p|idle|1|1|||",
        "n1|p|idle|-1|1|||",
        "n1|p|idle|1e9|1|||",
        "n1|p|idle|²|1|||",
        "../../n1|p|idle|1|1|||",
        "n" * 81 + "|p|idle|1|1|||",
    ],
)
def test_what_names_no_node_is_left_out(line: str) -> None:
    assert not sinfo.rows_of(line, "p")


def test_what_a_stranger_wrote_is_plain_and_bounded() -> None:
    gres, reason = "gpu:\x1b[31mred:8" + "x" * 10_000, "\x1b]0;title\x07\u202e" + "y" * 10_000
    (row,) = sinfo.rows_of(f"n1|p|down|{'9' * 300}|{'9' * 300}|{gres}|\x00|{reason}", "p")
    told = [*row.labels.values(), row.state]
    assert all(one.isprintable() and len(one) < 500 for one in told)
    assert row.cpus == 999_999_999
    assert row.gpus == ("", 0)


def test_there_is_a_bound_to_nodes() -> None:
    rows = sinfo.rows_of("\n".join(f"n{n}|p|idle|1|1|||" for n in range(30_000)), "p")
    assert len(rows) == 20_000


@pytest.mark.parametrize("name", ["slurm:-p", "slurm:a,b", "slurm:a b", "slurm:a;b", "slurm:../a"])
def test_what_names_no_partition_is_refused(name: str) -> None:
    with pytest.raises(UserError) as raised:
        Slurm(name)
    assert raised.value.code == "slurm-partition"


def test_without_slurm_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError) as raised:
        Slurm("slurm").nodes()
    assert raised.value.code == "slurm-missing"
    assert "sinfo" in raised.value.why


def test_the_folder_is_told_to_the_engine_of_a_fleet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started_engines: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDER, "all/see")
    with FleetEngine() as engine:
        told = Path(f"/proc/{engine.pid}/environ").read_bytes().split(b"\0")
    assert f"{FOLDER}={tmp_path}/all/see".encode() in told
