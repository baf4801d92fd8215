"""What the doctor found as a text that can be handed on; no password is in it."""

from __future__ import annotations

from collections.abc import Iterator

from torchkeeper.gui.pages.doctor.diagnosis import Diagnosis
from torchkeeper.link import diagnosing
from torchkeeper.link.words import checkwords
from torchkeeper.link.words.findingwords import said
from torchkeeper.link.words.problems import printable


def text(diagnosis: Diagnosis) -> str:
    """The whole of it. It must have come to its end."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    asked, result = diagnosis.asked, diagnosis.result or diagnosing.NOTHING
    assert asked is not None
    if asked.python:
        torch = asked.facts.get("torch")
        yield f"Interpreter: {printable(asked.python)}" + (f", torch {torch}" if torch else "")
    for place in asked.places:
        yield f"Place: {printable(place, 4096)}"
    yield diagnosing.summary(diagnosis.found, result)
    for one in diagnosis.found:
        told = said(one.finding)
        yield ""
        yield f"{one.finding.severity}: {told.what}"
        for part in (told.why, told.remedy):
            yield from (f"    {line}" for line in part.splitlines() if line)
        place = f" of {printable(one.finding.place, 4096)}" if one.finding.place else ""
        yield f"    Check: {checkwords.name(one.check)}{place}"
    if left := diagnosing.left_of(result):
        yield ""
    for check, place, why in left:
        where = f" of {printable(place, 4096)}" if place else ""
        yield f"not checked: {checkwords.name(check)}{where}: {why.what} {why.why}".rstrip()
    if diagnosis.result is not None:
        yield ""
        yield f"Checked: {checkwords.listed(result['checks'])}."
