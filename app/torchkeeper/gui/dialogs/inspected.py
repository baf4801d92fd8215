"""What is known of a file that may be imported, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.sshsig import short_key
from torchkeeper.client import carrying
from torchkeeper.client.words import runnable, say
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.dialogs import environment

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims, MadeIn
    from torchkeeper.engine.messages.bundles import SignatureResult
    from torchkeeper.engine.messages.entries import RunnableResult
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import ListResult


def _tr(text: str) -> str:
    return QCoreApplication.translate("Inspected", text)


@dataclass
class Inspected:
    """What is known of one file."""

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
        """Count some entries."""
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
        """It was read to its end."""
        self.made_in = found.get("made_in")
        self.format = found.get("format", "")
        self.claims = carrying.claims_of(found)
        self.runnable = runnable
        self.signature = found.get("signature")
        self.ready = True

    def suspicious(self) -> str:
        """What is to be said where it names what PyTorch never writes, or nobody knows whether it
        does; empty where it does not.
        """
        if self.runnable is None:
            return _tr("What of it would be able to run could not be found out.")
        return runnable.warning(self.runnable)

    def runs(self) -> str:
        """What of it would be able to run, a text of one line; empty where nobody knows."""
        if not self.runnable or not (kinds := runnable.kinds(self.runnable)):
            return ""
        said = _tr("Able to run: {}. It names {}.")
        return said.format("; ".join(kinds), runnable.names(self.runnable))

    def fail(self, error: UserError) -> None:
        """It cannot be read."""
        self.error, self.ready = error, True

    def title(self) -> str:
        """What it is and how much is in it."""
        if not self.entries:
            return _tr("There is nothing to import in this file.")
        what = (
            _tr("A mega-cache of PyTorch")
            if self.format == "mega-cache"
            else _tr("A Torchkeeper bundle")
        )
        return f"{what}: {say.count(self.entries, 'entry', 'entries')}, {say.content(self.bytes)}"

    def origin(self) -> str:
        """Where it was made, and what of it no place can hold."""
        lines = []
        if self.made_in:
            facts = environment.facts(self.made_in)
            lines.append(_tr("Made with: ") + " · ".join(f"{n} {v}" for n, v in facts))
        elif self.torches:
            known = say.together(sorted(printable(x, 40) for x in self.torches))
            lines.append(_tr("Its entries were made by torch {}.").format(known))
        else:
            lines.append(_tr("It does not say in which environment it was made."))
        if self.signature:
            lines.append(printable(signed(self.signature)))
        if self.claims and (objects := carrying.lines(self.claims)):
            lines.append(
                " · ".join(f"{name[:1].upper()}{name[1:]}: {value}" for name, value in objects)
            )
        if self.refused:
            lines.append(
                _tr("Left out: {}; the first: ").format(
                    say.count(len(self.refused), "entry", "entries")
                )
                + self.refused[0].replace("\n", " ")
            )
        return "\n".join(lines)


def signed(signature: SignatureResult) -> str:
    """Who signed it, in words."""
    key = short_key(signature)
    status = signature["status"]
    if status == "trusted":
        return _tr("Signed by {}, with {}").format(signature["signer"], key)
    if status == "unknown":
        return _tr("Signed by a key that is not among your signers: {}").format(key)
    if status == "unchecked":
        said = _tr("Signed with {}, which could not be checked: there is no ssh-keygen here")
        return said.format(key)
    return _tr("Signed by nobody")
