"""What PyTorch has written between a kill and the next start stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.crash.cases import CASES, Case
from tests.crash.oracle import State, is_list
from tests.crash.stage import Stage
from torchkeeper.artifacts.layout import TRASH

NEWER = b"PyTorch was here"


def files(found: State) -> dict[str, object]:
    """The contents of the files outside the trash."""
    return {
        path: content
        for path, (mode, content, _) in found.items()
        if stat.S_ISREG(int(str(mode))) and not path.startswith(TRASH)
    }


def write(path: Path) -> None:
    """As PyTorch does it: beside it, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(".1234.tmp")
    partial.write_bytes(NEWER)
    os.replace(partial, path)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.operation in ("import", "copy") and case.before != "spoilt"],
    ids=lambda case: case.name,
)
def test_over_what_an_import_had_placed(case: Case, stage: Stage) -> None:
    known, place = stage.known(case), stage.path(case.watched)
    before, after = files(known.before), files(known.after)
    named = [call for call in known.calls if call.name in ("rename", "link", "linkat")]
    stage.killed(case, named[-1].number)
    placed = [p for p in sorted(after) if p not in before and (place / p).exists()]
    newer = placed[0]
    write(place / newer)
    outcome = stage.reopen(case)
    assert [one["recovered"]["outcome"] for one in outcome.findings] == ["taken-back"]
    assert (place / newer).read_bytes() == NEWER
    now = files(stage.state(case))
    assert {path for path in now if now[path] != before.get(path)} == {newer}
    assert before.keys() <= now.keys()


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.operation == "purge"], ids=lambda case: case.name
)
def test_where_a_purge_had_moved_something(case: Case, stage: Stage) -> None:
    known, place = stage.known(case), stage.path(case.watched)
    before = files(known.before)
    renamed = [call for call in known.calls if call.name.startswith("rename")]
    moved = [call for call in renamed if "/files/" in call.other]
    stage.killed(case, moved[-1].number)
    gone = [p for p in sorted(before) if not (place / p).exists() and not is_list(p)]
    newer = gone[len(gone) // 2]
    write(place / newer)
    outcome = stage.reopen(case)
    assert [one["recovered"]["outcome"] for one in outcome.findings] == ["put-back"]
    assert (place / newer).read_bytes() == NEWER
    now = files(stage.state(case))
    assert {path for path in now if now[path] != before.get(path)} == {newer}
    assert now.keys() == before.keys()
    # And what was there before is not lost.
    kept = [path for path in place.rglob("*") if str(path).endswith(f"/{newer}")]
    assert len(kept) == 2
    (place / newer).unlink()
    assert stage.undo(case).left == []
    assert files(stage.state(case)) == before
