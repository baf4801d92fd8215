"""Words for an operation that was cut off, and what has become of it (folders.recovering)."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.link import say
from torchkeeper.link.words import printable

_WHAT = {
    "import": "An import into {place}",
    "purge": "A purge of {place}",
    "undo": "An undo in {place}",
    "empty": "The emptying of the trash of {place}",
}


def ended(told: Mapping[str, object]) -> str:
    """Two sentences; told: a Recovered by the names of its fields."""
    what = _WHAT.get(str(told.get("what")), "Something in {place}")
    what = what.format(place=printable(str(told.get("place"))))
    made, files, entries = told.get("made"), _number(told, "files"), _number(told, "entries")
    when = f" (begun {say.when(made)})" if isinstance(made, float) else ""
    count = say.count(files, "file", "files")
    were = "was" if files == 1 else "were"
    done = "It is completed now."
    if told.get("outcome") == "taken-back":
        done = f"{count} of it {were} taken back." if files else "Nothing of it is left."
    elif told.get("outcome") == "put-back":
        were = "was" if entries == 1 else "were"
        done = f"{say.count(entries, 'entry', 'entries')} {were} put back."
    return f"{what} was cut off{when}. {done}"


def _number(told: Mapping[str, object], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0
