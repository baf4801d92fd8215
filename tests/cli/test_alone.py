"""A cache of Triton's alone, in a folder of the place: with the timings of a tuned kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.conftest import DATA, unpack_archive

TIMINGS = "6YEPF7JHYZR5YYTXMQOJBVRDC4WECTCVP5T2X554WRQBEEQ24PPQ"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """What Triton and other compilers wrote on a GPU."""
    unpack_archive(DATA / "torch-2.11.0" / "jit.tar.xz", tmp_path / "place")
    return tmp_path / "place"


def test_none_of_it_is_dead(tk: Tk, place: Path) -> None:
    """Timings are all that lies in their folder: that is whole, and no kernel."""
    assert "Nothing matches." in tk("purge", place, "--broken", "--orphans", "--dry-run").out
    [told] = tk("show", place, TIMINGS, "--json").objects
    assert (told["name"], told["problem"], told["orphan"]) == ("add (timings)", None, None)
    assert "configs_timings" in told["facts"]["metadata"]


def test_it_is_carried_to_a_place_of_its_own(tk: Tk, place: Path, tmp_path: Path) -> None:
    bundle, into = tmp_path / "b.torchcache", tmp_path / "into"
    assert "5 entries" in tk("export", place, "-o", bundle).out
    tk("import", bundle, "--into", into, "--trust")
    tk("copy", place, tmp_path / "copied")
    # A group file names the files beside it by their paths.
    kernels = {path.relative_to(place / "triton"): path.read_bytes()
               for path in (place / "triton").glob("*/[!_]*")}  # fmt: skip
    assert len(kernels) == 16
    for there in (into, tmp_path / "copied"):
        assert {path: (there / path).read_bytes() for path in kernels} == kernels
