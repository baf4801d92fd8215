"""Benches that nothing else runs go on working, and the manual has the figures that they found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import disk, kept, memory, start, streaming
from tests.bench.listing import kernels
from tests.bench.measure import Figure

FIGURES = [Figure("export of 3 kernels", 2.5, 1.0, 2, "tar"), Figure("undo", 0.5, 1.0, 2, "rename")]


def test_the_manual_has_what_was_measured_and_nothing_else() -> None:
    text = kept.MANUAL.read_text()
    assert text[text.index(kept.HEADING) :] == kept.table(kept.load())
    assert set(kept.load()) <= set(kept.MEASURES)


def test_every_bench_measures_folders_that_are_there() -> None:
    for folders in kept.MEASURES.values():
        assert all((kept.ROOT / "app/torchkeeper" / folder).is_dir() for folder in folders)


def test_what_was_measured_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manual = tmp_path / "speed.md"
    manual.write_text(f"# Speed\n\nWords.\n\n{kept.HEADING}old\n")
    monkeypatch.setattr(kept, "FILE", tmp_path / "figures.json")
    monkeypatch.setattr(kept, "MANUAL", manual)
    monkeypatch.setattr(
        kept, "_git", lambda *command: "" if "status" in command else "0123456789ab"
    )
    kept.write({"disk": FIGURES})
    [(name, bench)] = kept.load().items()
    assert (name, bench["commit"]) == ("disk", "0123456789ab")
    told = manual.read_text()
    assert told.startswith("# Speed\n\nWords.\n\n## Measured\n")
    row = "| export of 3 kernels | 2,500.0 ms | 1,000.0 ms (tar) | 2.50 | ≤ 2.0×: missed |"
    assert row in told.splitlines()
    assert "old" not in told
    # Another bench leaves it, and is in a run of its own only where that is another one.
    kept.write({"table": FIGURES[1:]})
    assert list(kept.load()) == ["disk", "table"]
    assert manual.read_text().count("On 2") == 1


def test_code_that_is_in_no_commit_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_git", lambda *_: " M app/torchkeeper/gui/window.py")
    with pytest.raises(RuntimeError, match="commit them"):
        kept.write({"disk": FIGURES})


def test_what_has_changed_since_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[kept.Row] = []
    bench: kept.Bench = {"commit": "0123", "date": "2026-01-02", "machine": "2", "rows": rows}
    monkeypatch.setattr(kept, "load", lambda: {"disk": bench, "table": bench})
    monkeypatch.setattr(
        kept, "_git", lambda *command: "c0ffee" * ("app/torchkeeper/cli" in command)
    )
    kept.tell()
    told = capsys.readouterr().out
    assert "disk: measured at 0123; what it measures has changed since." in told
    assert "table: measured" not in told
    assert "window: never measured." in told


@pytest.mark.slow
def test_rows_stream_into_a_window_that_shows_them() -> None:
    figures = streaming.figures(rows=1000, times=1)
    # Each run ends by itself, and has looked at what is shown.
    assert len(figures) == 3


@pytest.mark.slow
def test_kernels_go_through_all_that_changes_files(tmp_path: Path, torch_python: str) -> None:
    place = tmp_path / "kernels"
    kernels(place, 20, torch_python)
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    assert len(disk.figures(tmp_path, place, times=2)) == 5
    assert sorted(path.relative_to(place) for path in place.rglob("*")) == before


@pytest.mark.slow
def test_every_command_is_within_its_memory(tmp_path: Path, torch_python: str) -> None:
    figures = memory.figures(tmp_path, torch_python, 100, 20)
    assert len({figure.what for figure in figures}) == 13
    assert all(0 < figure.ours < memory.MOST for figure in figures)


@pytest.mark.slow
def test_every_command_starts(tmp_path: Path) -> None:
    figures = start.figures(tmp_path, times=1)
    assert len({figure.what for figure in figures}) == len(figures) == 13
    assert {figure.what for figure in figures if figure.most} == {
        "--version",
        "ls of 1,000 entries",
    }
