"""Findings of rules and of the doctor, as commands tell them, and the exit code they come to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchkeeper.cli import contract, output
from torchkeeper.client.profiles.taking import no_setting
from torchkeeper.client.words.findingwords import counted, said
from torchkeeper.client.words.problems import printable
from torchkeeper.settings.finding import Finding, worst

#: Exit statuses by the worst severity.
_CODES = {"error": contract.ERRORS, "warning": contract.PARTLY}
#: Variables that are no settings which a line names.
_NAMED = 6


def code(findings: Sequence[Finding]) -> int:
    return _CODES.get(worst(list(findings)) or "", contract.DONE)


def to_json(one: Finding) -> dict[str, object]:
    words = said(one)
    return {**one.to_json(), "what": words.what, "why": words.why, "remedy": words.remedy}


def lines(findings: Sequence[Finding]) -> list[str]:
    texts = []
    for one in findings:
        words = said(one)
        texts.append(f"{one.severity}: {words.what}")
        texts += [f"  {line}" for part in (words.why, words.remedy) for line in part.splitlines()]
    return texts


def summary(findings: Sequence[Finding]) -> str:
    return ", ".join(counted(findings)) or "nothing wrong"


def note(args: argparse.Namespace, findings: Sequence[Finding]) -> None:
    """Say those that are worse than advice on standard error, beside what somebody asked for."""
    output.remark(args, lines([one for one in findings if one.severity != "advice"]))


def left_json(left: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "why": why} for name, why in left]


def left_lines(left: Sequence[tuple[str, str]]) -> list[str]:
    """What was not taken: a line for each, but one for all that are no settings."""
    others = [name for name, why in left if why == no_setting()]
    lines = [f"left: {printable(name)}: {printable(why)}." for name, why in left
             if why != no_setting()]  # fmt: skip
    if others:
        more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
        lines.append(f"left: {printable(', '.join(others[:_NAMED]))}{more}, no settings of the "
                     "caches.")  # fmt: skip
    return lines
