"""What would take long to read: ``ls`` says so, and the other commands leave it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.stores.test_budget import ENDLESS, put


@pytest.mark.slow
def test_the_command_says_what_it_left_unread_and_reads_it_when_asked(
    tk: Tk, tmp_path: Path
) -> None:
    place = tmp_path / "few"
    for number in range(3):
        put(place, number, ENDLESS + b"%d" % number)
    said = tk("ls", place)
    assert said.code == 0
    assert said.out.count("[not read: entry-unread]") == 2
    assert said.out.endswith("; 1 broken; 2 not read\n")
    assert "“ls --read-all” reads all" in said.err
    unread = [row["path"] for row in tk("ls", place, "--json", "--filter", "is:unread").objects]
    assert len(unread) == 2
    gone = tk("purge", place, "--dry-run", "--broken", "--json").objects
    assert not {row.get("path") for row in gone} & set(unread)
    out = tk("export", place, "-o", tmp_path / "b.torchcache", "--allow-secrets", "--json")
    assert [one["code"] for one in out.result["left"]].count("entry-unread") == 2
    assert tk("ls", place, "--read-all").out.endswith("; 3 broken\n")
    assert tk("ls", place).out.endswith("; 3 broken\n")
