"""What came of a job, in a few words, for the list of jobs."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.sshsig import short_key
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import several


def _tr(text: str) -> str:
    return QCoreApplication.translate("Operations", text)


def number(result: dict[str, Any], name: str) -> int:
    """A count of a result, or how many it lists; 0 where it has none."""
    value = result.get(name)
    if isinstance(value, (list, dict)):
        return len(value)
    return int(value) if isinstance(value, (int, float)) else 0


def counted(result: dict[str, Any]) -> str:
    """A result in words: 12 entries and 3 locks, 3.1 MB on disk."""
    return say.held_of(result)


def found(result: dict[str, Any]) -> str:
    """What was looked for and what came of it: 7 graphs: 0 hit, 7 missed; 1 not cacheable, too."""
    hits, misses = number(result, "hits"), number(result, "misses")
    said = result.get("things")
    things = said if isinstance(said, dict) else {"graphs": number(result, "graphs")}
    text = _tr("{} hit, {} missed").format(f"{hits:,}", f"{misses:,}")
    if bypasses := number(result, "bypasses"):
        text += _tr(", {} not cacheable").format(f"{bypasses:,}")
    return _tr("{}: {}").format(say.things(things), text)


def of_warm(result: dict[str, Any]) -> str:
    """What a warm-up compiled, found and added."""
    text = found(result) + ", " + say.seconds(float(result.get("seconds") or 0))
    text += _tr(" · {} added").format(say.count(number(result, "added"), "entry", "entries"))
    if failed := number(result, "failed"):
        cells = say.count(failed + number(result, "done"), "cell", "cells")
        text = _tr("{} of {} failed · ").format(f"{failed:,}", cells) + text
    return text


def of_sign(result: dict[str, Any]) -> str:
    """With which key a bundle was signed, and whose the user knows it to be."""
    signature = result["signature"]
    key = printable(short_key(signature), 200)
    if signature.get("status") == "trusted":
        who = printable(str(signature.get("signer")), 80)
        return _tr("Signed by {}, with {}").format(who, key)
    return _tr("Signed with {}").format(key)


def of_prepare(result: dict[str, Any]) -> str:
    """What a preparation built."""
    built = number(result, "built")
    if not built:
        return _tr("there already") if number(result, "there") else _tr("nothing to do")
    headers = say.count(built, "header", "headers")
    return _tr("{} built ({})").format(headers, say.size(number(result, "bytes")))


def of_mend(result: dict[str, Any]) -> str:
    """How many files a fix changed, and how many it could not."""
    done = say.count(number(result, "files"), "file", "files")
    failed = number(result, "failed")
    text = _tr("{} changed").format(done)
    return text + (_tr(", {} could not be").format(f"{failed:,}") if failed else "")


def of_verify(result: dict[str, Any]) -> str:
    """Whether a verification is good, and why."""
    said = _tr("good") if result.get("good") else _tr("not good")
    if (ratio := best(result, "cold")) is not None:
        said += _tr(": {}× as fast as cold").format(f"{ratio:.1f}")
    return said + _tr(" · {} hit, {} missed, {} rebuilt").format(
        *(f"{number(result, name):,}" for name in ("hits", "misses", "rebuilt"))
    )


def best(result: dict[str, Any], other: str) -> float | None:
    """How many times as fast as another run the last one with the target was; None where one of
    the two was not made.
    """
    ratios = result.get("ratios")
    if not isinstance(ratios, dict):
        return None
    for name in ("prepared", "warm"):
        found = ratios.get(f"{name}_{other}")
        if isinstance(found, (int, float)):
            return float(found)
    return None


def of_expire(result: dict[str, Any]) -> str:
    """How many entries were changed."""
    return say.count(number(result, "entries"), "entry", "entries")


def of_import(result: dict[str, Any]) -> str:
    """How many entries were placed, and how many were there."""
    there = number(result, "exists")
    text = counted(result)
    if renamed := number(result, "renamed"):
        text += _tr(" · {} renamed").format(say.count(renamed, "object", "objects"))
    was = several(there, "{n} was there already", "{n} were there already")
    return f"{text} · {was}" if there else text
