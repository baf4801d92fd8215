"""Words for an operation that was cut off, and what has become of it (folders.guard)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, several, tr

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import TakenBackFinding, UnprovenFinding
    from torchkeeper.stores.shapes import CutOff

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
    "": ("Something in {place} was cut off.", "Something in {place} was cut off (begun {when})."),
}
#: A journal that is passed over.
_NOT_BELIEVED: Text = (
    "{file} says that something was cut off there. It is not believed: nothing shows that you "
    "began it in this folder. An archive, a copy or a backup may have brought it, or it was begun "
    "on another machine."
)
_FORGOTTEN: Text = "{file} is removed. What lies in the folder stays as it is."
#: What only somebody else can finish.
_OF_ANOTHER: Text = (
    "Something that another user did in {place} was cut off: {file} is theirs. What is shown may "
    "be a half, until they change the folder with Torchkeeper or complete what was cut off."
)
#: What was looked at and left as it is.
_WAITING: Text = "What is shown may be a half. The next change of the folder brings it to its end."
#: Where nothing can be kept of what is begun.
_UNPROVEN: Text = (
    "No record can be kept of what is done in {place} now ({why}): nothing is lost if it is cut "
    "off, but it is brought to its end only by who asks for it. Your state folder is "
    "XDG_STATE_HOME, by default ~/.local/state."
)

_IN_TRASH: Nouns = (
    "{n} file is still in the trash, as its place is taken.",
    "{n} files are still in the trash, as their places are taken.",
)
_OF_OTHERS: Nouns = (
    "{n} file in place of its own, which others wrote or copied there since, stays.",
    "{n} files in place of its own, which others wrote or copied there since, stay.",
)
_REST: Text = "The rest could not be, and is brought to its end by the next change of {place}."


def ended(told: CutOff) -> str:
    """Some sentences."""
    place, file, outcome = printable(told["place"]), printable(told["file"]), told["outcome"]
    if outcome == "not-believed":
        return tr(_NOT_BELIEVED, file=file)
    if outcome == "forgotten":
        return tr(_FORGOTTEN, file=file)
    if outcome == "of-another":
        return tr(_OF_ANOTHER, place=place, file=file)
    said = [begun(told), *_done(told)]
    left = told["left"]
    if left and outcome != "no-room" and told["what"] == "purge":
        said.append(several(left, *_IN_TRASH))
    return " ".join(said)


def begun(told: CutOff) -> str:
    """A sentence: what was cut off, where, and when it was begun."""
    made = told["made"]
    what = _WHAT.get(told["what"], _WHAT[""])[made is not None]
    when = say.when(made) if made is not None else ""
    return tr(what, place=printable(told["place"]), when=when)


def taken_back(told: TakenBackFinding) -> str:
    """Some sentences: what an operation that was cancelled has taken back, and what is left."""
    files, left = told["files"], told["left"]
    said = []
    if files:
        said.append(several(files, "{n} file was taken back.", "{n} files were taken back."))
    if not told["whole"]:
        said.append(tr(_REST, place=printable(told["place"])))
    elif left:
        said.append(several(left, *_OF_OTHERS))
    else:
        said.append(tr("Nothing was left behind."))
    return " ".join(said)


def unproven(told: UnprovenFinding) -> str:
    """A sentence: what is begun could not be completed by itself."""
    return tr(_UNPROVEN, place=printable(told["place"]), why=printable(told["why"]))


def _done(told: CutOff) -> list[str]:
    """What has become of it."""
    outcome = told["outcome"]
    files, entries, left = told["files"], told["entries"], told["left"]
    if outcome == "taken-back":
        back = several(files, "{n} file of it was taken back.", "{n} files of it were taken back.")
        said = [back if files else tr("Nothing of it was there yet.")]
        return said + ([several(left, *_OF_OTHERS)] if left else [])
    if outcome == "put-back":
        if not (entries or files or left):
            return [tr("Nothing had been moved yet.")]
        return [several(entries, "{n} entry was put back.", "{n} entries were put back.")]
    if outcome == "waiting":
        return [tr(_WAITING)]
    if outcome == "no-room":
        return [tr("The disk is too full to bring it to its end: free some room, then undo.")]
    return [tr("It is completed now.")]
