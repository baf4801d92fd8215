"""What came of an operation has words for the window and for commands, whichever it is."""

from __future__ import annotations

from typing import Any

import pytest

from torchkeeper.client.words import found, outcomes
from torchkeeper.client.words.outcomes import Ended
from torchkeeper.engine.messages.findings import Finding, LeftFinding
from torchkeeper.engine.protocol import (
    COPY,
    EXPORT,
    FILL,
    IMPORT,
    PROVE,
    RUN,
    SIGN,
    TABLE,
    TTL,
    UNDO,
    traits,
)

#: What becomes a job, and a step of one that is none by itself; what a fleet asks has none.
OF_FLEETS = {FILL, PROVE}
MADE = {one.name for one in TABLE.values() if one.changes or one.compiles}
JOBS = MADE - OF_FLEETS | {SIGN, RUN}
STEPS = {"attach_signature"}


def test_each_operation_that_becomes_a_job_is_told_of() -> None:
    assert set(outcomes._OPERATIONS) == JOBS - STEPS


@pytest.mark.parametrize("name", sorted(JOBS))
def test_what_leaves_something_to_look_at_has_a_page(name: str) -> None:
    of, told = traits(name), outcomes._OPERATIONS.get(name)
    assert (told is not None and told.page is not None) == (of.bundles or of.fills or of.compiles)


@pytest.mark.parametrize(
    ("op", "result", "asked", "line", "went"),
    [(EXPORT, {"entries": 0}, {}, "There was nothing to export.", "no"),
     (EXPORT, {"entries": 0}, {"dry": True}, "There is nothing to export.", "no"),
     (IMPORT, {"entries": 0, "exists": 2, "bytes": 0}, {"dry": True},
      "Nothing in it is new to /place.", "done"),
     (COPY, {"entries": 0, "exists": 1}, {}, "Nothing to do: 1 entry is there already.", "done"),
     (COPY, {"entries": 1, "exists": 0, "doubles": 0, "bytes": 9, "renamed": 0}, {},
      "1 entry, 9 B of content copied to /place", "done"),
     (COPY, {"entries": 1, "exists": 0, "doubles": 2, "bytes": 9, "renamed": 0}, {},
      "1 entry, 9 B of content copied to /place; 2 entries came twice", "done"),
     (UNDO, {"entries": 2, "disk_bytes": 8, "undid": "purge"}, {},
      "2 entries, 8 B on disk put back.", "done"),
     (UNDO, {"entries": 2, "disk_bytes": 8, "undid": "import"}, {},
      "2 entries, 8 B on disk of an import moved to the trash; “undo” puts it back.", "done"),
     (TTL, {"entries": 3, "failed": 0}, {"time": None}, "Kept without an end: 3 entries.", "done"),
     (TTL, {"entries": 0, "failed": 1}, {"time": 1.0}, "Nothing was changed.", "no"),
     (TTL, {"entries": 0, "failed": 0}, {"time": 1.0}, "Nothing matches.", "done"),
     (TTL, {"entries": 2, "failed": 1}, {"time": None}, "Kept without an end: 2 entries.",
      "partly")],
)  # fmt: skip
def test_a_command_ends_with_a_sentence_and_how_far_it_came(
    op: str, result: dict[str, Any], asked: dict[str, Any], line: str, went: str
) -> None:
    one = Ended(op, result, "/place", asked)
    assert (outcomes.line(one), outcomes.went(one)) == (line, went)


def test_what_could_have_been_taken_and_was_not_is_a_failure() -> None:
    by_nature: LeftFinding = {"code": "kind-not-portable", "params": {}, "path": None}
    failed: LeftFinding = {"code": "entry-changed", "params": {}, "path": None}
    some, nothing = {"entries": 1}, {"entries": 0}
    assert outcomes.went(Ended(EXPORT, some, left=[by_nature])) == "done"
    assert outcomes.went(Ended(EXPORT, some, left=[by_nature, failed])) == "partly"
    assert outcomes.went(Ended(EXPORT, nothing, left=[by_nature, failed])) == "no"
    assert outcomes.line(Ended(EXPORT, nothing, left=[failed])) == "Nothing of it could be taken."


def test_what_any_operation_finds_is_told_alike_everywhere() -> None:
    back: Finding = {"taken_back": {"place": "/place", "files": 3, "whole": True, "left": 0}}
    assert found.alike(back) == found.logged(back) != ""
    step: Finding = {"step": {"name": "compile", "index": 0, "variant": 0}}
    assert (found.alike(step), found.logged(step)) == ("", "Step: compile")
    assert found.noted(step) == "step: compile"
    newer: Any = {"nobody": {"knows": 1}}
    assert found.logged(newer) == found.noted(newer) == ""
