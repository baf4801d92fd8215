"""Words for an operation that was cut off, and what has become of it (folders.recovering)."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import Text, several, tr

#: Without and with the time at which it was begun.
_WHAT: dict[str, tuple[Text, Text]] = {
    "import": (
        "An import into {place} was cut off.",
        "An import into {place} was cut off (begun {when}).",
    ),
    "purge": ("A purge of {place} was cut off.", "A purge of {place} was cut off (begun {when})."),
    "undo": ("An undo in {place} was cut off.", "An undo in {place} was cut off (begun {when})."),
    "empty": (
        "The emptying of the trash of {place} was cut off.",
        "The emptying of the trash of {place} was cut off (begun {when}).",
    ),
    "": (
        "Something in {place} was cut off.",
        "Something in {place} was cut off (begun {when}).",
    ),
}
#: A journal that is passed over.
_NOT_BELIEVED: Text = (
    "{file} says that something was cut off there. It is not believed, as others can have written "
    "it. Remove it; if you gave others the right to write to the folder, look at what lies in it."
)
#: What only somebody else can finish.
_OF_ANOTHER: Text = (
    "Something that another user did in {place} was cut off: {file} is theirs. What is shown may "
    "be a half, until they open the folder with Torchkeeper."
)


def ended(told: Mapping[str, object]) -> str:
    """Some sentences; told: a Recovered by the names of its fields."""
    place, file = (printable(str(told.get(name))) for name in ("place", "file"))
    if told.get("outcome") == "not-believed":
        return tr(_NOT_BELIEVED, file=file)
    if told.get("outcome") == "of-another":
        return tr(_OF_ANOTHER, place=place, file=file)
    made = told.get("made")
    known = isinstance(made, float)
    what = _WHAT.get(str(told.get("what")), _WHAT[""])[known]
    when = say.when(made) if isinstance(made, float) else ""
    said = [tr(what, place=place, when=when), *_done(told)]
    left = _number(told, "left")
    if left and told.get("outcome") != "no-room" and told.get("what") == "purge":
        said.append(
            several(
                left,
                "{n} file is still in the trash, as its place is taken.",
                "{n} files are still in the trash, as their places are taken.",
            )
        )
    return " ".join(said)


def _done(told: Mapping[str, object]) -> list[str]:
    """What has become of it."""
    outcome = told.get("outcome")
    files, entries, left = (_number(told, name) for name in ("files", "entries", "left"))
    if outcome == "taken-back":
        back = several(files, "{n} file of it was taken back.", "{n} files of it were taken back.")
        said = [back if files else tr("Nothing of it was there yet.")]
        if left:
            said.append(
                several(
                    left,
                    "{n} file in place of its own, which others wrote or copied there since, "
                    "stays.",
                    "{n} files in place of its own, which others wrote or copied there since, "
                    "stay.",
                )
            )
        return said
    if outcome == "put-back":
        if not (entries or files or left):
            return [tr("Nothing had been moved yet.")]
        return [several(entries, "{n} entry was put back.", "{n} entries were put back.")]
    if outcome == "unfinished":
        why = printable(str(told.get("why")))
        return [tr("It cannot be brought to its end: {why}. What is shown may be a half.", why=why)]
    if outcome == "no-room":
        return [tr("The disk is too full to bring it to its end: free some room, then undo.")]
    return [tr("It is completed now.")]


def _number(told: Mapping[str, object], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0
