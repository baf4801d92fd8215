"""Lookups of a program with the words for why they were no hits, as types of JSON."""

from __future__ import annotations

from torchkeeper.verdict.probed import AotTold, GraphTold


class ExplainedGraph(GraphTold):
    """A graph that was looked up; why: empty for a hit."""

    why: str


class ExplainedAot(AotTold):
    """A lookup of AOTAutograd; why: empty for a hit."""

    why: str
