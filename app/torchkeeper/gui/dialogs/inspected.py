"""What is known of a file that may be imported, what of it would be of use here, and the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.sshsig import short_key
from torchkeeper.client import carrying
from torchkeeper.client.words import leaks, say, verdicts
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.verdicts.asking import Judging
from torchkeeper.gui.verdicts.environments import State, facts_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims, MadeIn
    from torchkeeper.engine.messages.bundles import SignatureResult
    from torchkeeper.engine.messages.entries import RunnableResult
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import ListResult
    from torchkeeper.engine.messages.verdicts import JudgeResult
    from torchkeeper.verdict.probed import Env

_tr = partial(QCoreApplication.translate, "Inspected")

#: Characters of a sentence about a file.
_LONG = 400


@dataclass
class Inspected:
    path: str
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    made_in: MadeIn | None = None
    format: str = ""
    torches: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    entries: int = 0
    bytes: int = 0
    ready: bool = False
    error: UserError | None = None
    #: What it says of how its native objects were built; None while it was not read.
    claims: Claims | None = None
    #: What of it would be able to run; None where that could not be found out.
    runnable: RunnableResult | None = None
    #: Who signed it; None while that is not known.
    signature: SignatureResult | None = None

    @property
    def signer(self) -> str | None:
        """Who signed it, of those whom the user trusts."""
        if self.signature is None or self.signature["status"] != "trusted":
            return None
        return printable(str(self.signature["signer"]), 80)

    def add(self, entries: list[Entry]) -> None:
        for entry in entries:
            count, size = self.kinds.get(entry.kind, (0, 0))
            self.kinds[entry.kind] = count + 1, size + entry.size
            self.entries += 1
            self.bytes += entry.size
            if entry.torch:
                self.torches.add(entry.torch)

    @property
    def good(self) -> bool:
        """Whether there is something to import."""
        return self.ready and self.error is None and self.entries > 0

    def add_findings(self, said: list[Finding]) -> None:
        """Note what no place can hold."""
        for one in said:
            if "left" in one:
                self.refused.append(str(user_error(one["left"]["code"], one["left"]["params"])))

    def end(self, found: ListResult, runnable: RunnableResult | None) -> None:
        self.made_in = found.get("made_in")
        self.format = found.get("format", "")
        self.claims = carrying.claims_of(found)
        self.runnable = runnable
        self.signature = found.get("signature")
        self.ready = True

    def suspicious(self) -> str:
        """What is said where it names what PyTorch never writes, or nobody knows; else empty."""
        if self.runnable is None:
            return _tr("Torchkeeper could not find out what code it runs.")
        return leaks.warning(self.runnable)

    def runs(self) -> str:
        """What of it would be able to run, a text of one line; empty where nobody knows."""
        if not self.runnable or not (kinds := leaks.kinds(self.runnable)):
            return ""
        said = _tr("Code that it can run: {}. It names {}.")
        return said.format("; ".join(kinds), leaks.names(self.runnable))

    def fail(self, error: UserError) -> None:
        self.error, self.ready = error, True

    def title(self) -> str:
        """What it is and how much is in it."""
        if not self.entries:
            return _tr("There is nothing to import in this file.")
        mega = self.format == "mega-cache"
        what = _tr("A mega-cache of PyTorch") if mega else _tr("A Torchkeeper bundle")
        return f"{what}: {say.count(self.entries, 'entry', 'entries')}, {say.content(self.bytes)}"

    def origin(self) -> str:
        """Where it was made, and what of it no place can hold."""
        lines = []
        if self.made_in:
            facts = facts_of(self.made_in)
            lines.append(_tr("Made with: ") + " · ".join(f"{n} {v}" for n, v in facts))
        elif self.torches:
            known = say.together(sorted(printable(x, 40) for x in self.torches))
            lines.append(_tr("Its entries were made by torch {}.").format(known))
        else:
            lines.append(_tr("It does not say in which environment it was made."))
        if self.signature:
            lines.append(printable(signed(self.signature)))
        if self.claims and (objects := carrying.lines(self.claims)):
            named = (f"{name[:1].upper()}{name[1:]}: {value}" for name, value in objects)
            lines.append(" · ".join(named))
        if self.refused:
            count = say.count(len(self.refused), "entry", "entries")
            first = self.refused[0].replace("\n", " ")
            lines.append(_tr("Left out: {}; the first: ").format(count) + first)
        return "\n".join(lines)


def signed(signature: SignatureResult) -> str:
    """Who signed it, in words."""
    key, status = short_key(signature), signature["status"]
    if status == "trusted":
        return _tr("Signed by {}, with {}").format(signature["signer"], key)
    if status == "unknown":
        return _tr("Signed by a key that is not among your signers: {}").format(key)
    if status == "unchecked":
        said = _tr("Signed with {}, but not checked: there is no ssh-keygen here")
        return said.format(key)
    return _tr("Signed by nobody")


class Prospects(QObject):
    """Has files judged, one by one, in the environment that is chosen; where it fails, nothing."""

    changed = Signal()

    def __init__(self, engines: Engines, choice: EnvironmentChoice, parent: QObject) -> None:
        super().__init__(parent)
        self._choice = choice
        self._judging = Judging(engines, self)
        self._files: list[str] = []
        self._about: Env | None = None
        #: What was found of each file (engine/checking.py); None of what cannot be judged.
        self.found: dict[str, JudgeResult | None] = {}
        choice.changed.connect(self._look)

    def begin(self, files: Sequence[str]) -> None:
        """Have these files judged, which can be read."""
        self._files = list(files)
        self._look()

    def _look(self) -> None:
        chosen = self._choice.one
        facts = chosen.facts if chosen is not None and chosen.torch else None
        if facts is not self._about:
            self._judging.forget()
            self._about, self.found = facts, {}
            self.changed.emit()
        if facts is not None:
            self._next()

    def _next(self) -> None:
        chosen = self._choice.one
        waiting = [file for file in self._files if file not in self.found]
        if not waiting or chosen is None or self._judging.busy:
            return
        file = waiting[0]

        def told(counts: JudgeResult | None) -> None:
            self.found[file] = counts
            self.changed.emit()
            self._next()

        self._judging.ask(file, chosen, told, lambda _: told(None))

    def forget(self) -> None:
        """Ask no more."""
        self._files = []
        self._judging.forget()

    def of(self, file: str) -> str:
        """What of a file would be of use, in a sentence; empty where that is not known."""
        counts, chosen = self.found.get(file), self._choice.one
        if counts:
            judged = {name: n for name, n in counts["verdicts"].items() if name != "none"}
            if not judged:
                return ""
            here = self.tr("torch {}").format(printable(chosen.torch if chosen else "", 40))
            said = printable(verdicts.summary({**counts, "verdicts": judged}), _LONG)
            return self.tr("With {}: {}").format(here, said)
        if chosen is None or file not in self._files or file in self.found:
            return ""
        waits = bool(chosen.torch) or chosen.state in (State.ASKING, State.UNASKED)
        return self.tr("Checking which entries are usable here…") if waits else ""

    @property
    def warning(self) -> str:
        """That nothing in any of the files is of use here; empty where something may be."""
        told = [self.found.get(file) for file in self._files]
        known = [counts for counts in told if counts]
        chosen = self._choice.one
        if not known or len(known) < len(told) or chosen is None:
            return ""
        return printable(verdicts.warning(verdicts.together(known), chosen.torch), _LONG)
