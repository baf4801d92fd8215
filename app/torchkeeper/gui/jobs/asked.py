"""What a job was asked for, where that tells how to go on after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict


class Then(NamedTuple):
    """Where what was warmed goes: a new bundle, and a server; empty for neither."""

    bundle: str = ""
    server: str = ""


class Asked(TypedDict, total=False):
    """What a job was asked for. recipes: BUILTIN, files and folders. limit_s: seconds that a cell
    may take. jobs: processes at a time. source: the place that entries come from; files, output:
    the bundles that are read and written. key: what signs. offer_prepare: whether programs would
    have to wait for a header. mark: what a place was like before it was verified. made_threads: how
    many threads a bundle was made with.

    warm: cells that are left out, each as its recipe and its name. paths: of the recipes, as they
    were read; before: for each what it is called, and how many of its cells are left out.
    """

    device: str | None
    threads: int
    portable: bool
    profile: str
    limit_s: float
    jobs: int
    recipes: Sequence[str]
    python: str
    source: str
    files: list[str]
    output: str
    key: str
    offer_prepare: bool
    mark: str | None
    made_threads: int | None
    then: Then | None
    warm: Sequence[tuple[str, str]] | None
    paths: list[str]
    before: Sequence[tuple[str, int]] | None
