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
#: A journal that is passed over.
_NOT_BELIEVED = (
    "{file} says that something was cut off there. It is not believed, as others can have written "
    "it. Remove it; if you gave others the right to write to the folder, look at what lies in it."
)
#: What only somebody else can finish.
_OF_ANOTHER = (
    "Something that another user did in {place} was cut off: {file} is theirs. What is shown may "
    "be a half, until they open the folder with Torchkeeper."
)


def ended(told: Mapping[str, object]) -> str:
    """Some sentences; told: a Recovered by the names of its fields."""
    if told.get("outcome") == "not-believed":
        return _NOT_BELIEVED.format(file=printable(str(told.get("file"))))
    if told.get("outcome") == "of-another":
        return _OF_ANOTHER.format(
            place=printable(str(told.get("place"))), file=printable(str(told.get("file")))
        )
    what = _WHAT.get(str(told.get("what")), "Something in {place}")
    what = what.format(place=printable(str(told.get("place"))))
    made, files, entries = told.get("made"), _number(told, "files"), _number(told, "entries")
    when = f" (begun {say.when(made)})" if isinstance(made, float) else ""
    count = say.count(files, "file", "files")
    were = "was" if files == 1 else "were"
    done = "It is completed now."
    if told.get("outcome") == "taken-back":
        stays = _number(told, "left")
        done = f"{count} of it {were} taken back." if files else "Nothing of it was there yet."
        if stays:
            done += f" {say.count(stays, 'file', 'files')} in place of its own, which others wrote "
            done += "or copied there since, stay."
    elif told.get("outcome") == "put-back":
        were = "was" if entries == 1 else "were"
        done = f"{say.count(entries, 'entry', 'entries')} {were} put back."
        if not (entries or files or _number(told, "left")):
            done = "Nothing had been moved yet."
    elif told.get("outcome") == "unfinished":
        why = printable(str(told.get("why")))
        done = f"It cannot be brought to its end: {why}. What is shown may be a half."
    elif told.get("outcome") == "no-room":
        done = "The disk is too full to bring it to its end: free some room, then undo."
    stays = _number(told, "left")
    if stays and told.get("outcome") != "no-room" and told.get("what") == "purge":
        were = "is" if stays == 1 else "are"
        what_stays = say.count(stays, "file", "files")
        done += f" {what_stays} {were} still in the trash, as their places are taken."
    return f"{what} was cut off{when}. {done}"


def _number(told: Mapping[str, object], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0
