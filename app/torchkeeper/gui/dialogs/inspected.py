"""What is known of a file that may be imported, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.sshsig import short_key
from torchkeeper.gui.dialogs import environment
from torchkeeper.link import carrying
from torchkeeper.link.words import runnable, say
from torchkeeper.link.words.problems import UserError, printable, user_error

#: What a listing tells of native objects (stores/bundles/building.py).
_CLAIMS = ("native", "objects", "built", "headers", "portable")


def _tr(text: str) -> str:
    return QCoreApplication.translate("Inspected", text)


@dataclass
class Inspected:
    """What is known of one file."""

    path: str
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    made_in: dict[str, Any] | None = None
    format: str = ""
    torches: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    entries: int = 0
    bytes: int = 0
    ready: bool = False
    error: UserError | None = None
    #: What it says of how its native objects were built, as ``list`` tells it.
    claims: dict[str, Any] = field(default_factory=dict)
    #: What of it would be able to run, as ``runnable`` tells it.
    runnable: dict[str, Any] = field(default_factory=dict)
    #: Who signed it, as ``list`` tells it; nothing while that is not known.
    signature: dict[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> dict[str, Any]:
        """What ``link.carrying`` wants to know of it, and the sha256 of its manifest."""
        manifest = self.signature.get("manifest")
        return {"file": self.path, "made_in": self.made_in, "manifest": manifest, **self.claims}

    @property
    def signer(self) -> str | None:
        """Who signed it, of those whom the user trusts."""
        trusted = self.signature.get("status") == "trusted"
        return printable(str(self.signature.get("signer")), 80) if trusted else None

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

    def add_findings(self, said: list[dict[str, Any]]) -> None:
        """Note what no place can hold."""
        for one in said:
            left = one.get("left")
            if isinstance(left, dict) and isinstance(left.get("code"), str):
                params = left.get("params")
                about = params if isinstance(params, dict) else {}
                self.refused.append(str(user_error(left["code"], about)))

    def end(self, found: dict[str, Any]) -> None:
        """It was read to its end."""
        made_in = found.get("made_in")
        self.made_in = made_in if isinstance(made_in, dict) else None
        self.format = str(found.get("format") or "")
        self.claims = {name: found.get(name) for name in _CLAIMS}
        signature = found.get("signature")
        self.signature = signature if isinstance(signature, dict) else {}
        self.ready = True

    def suspicious(self) -> str:
        """What is to be said where it names what PyTorch never writes, or nobody knows whether it
        does; empty where it does not.
        """
        if self.runnable.get("untold"):
            return _tr("What of it would be able to run could not be found out.")
        return runnable.warning(self.runnable)

    def runs(self) -> str:
        """What of it would be able to run, a text of one line; empty where nobody knows."""
        kinds = runnable.kinds(self.runnable)
        if not kinds:
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
        if objects := carrying.lines(self.claims):
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


def signed(signature: dict[str, Any]) -> str:
    """Who signed it, in words."""
    key = short_key(signature)
    status = signature.get("status")
    if status == "trusted":
        return _tr("Signed by {}, with {}").format(signature.get("signer"), key)
    if status == "unknown":
        return _tr("Signed by a key that is not among your signers: {}").format(key)
    if status == "unchecked":
        said = _tr("Signed with {}, which could not be checked: there is no ssh-keygen here")
        return said.format(key)
    return _tr("Signed by nobody")
