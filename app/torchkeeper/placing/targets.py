"""Which target a name is."""

from __future__ import annotations

from torchkeeper.client.kept import hosts
from torchkeeper.client.words.problems import user_error
from torchkeeper.placing.machines import Machines
from torchkeeper.placing.target import Target
from torchkeeper.stores.ssh import SCHEME

LOCAL = "local"


def target(text: str, python: str | None = None, slots: int | None = None) -> Target:
    """The target of a name: ``local``, ``ssh://host``, or a group of hosts. python: the interpreter
    there; slots: units at a time on each node; by default as the target has it. Raises UserError.
    """
    if text == LOCAL:
        return Machines(text, [""], python, slots)
    if text.startswith(SCHEME):
        return Machines(text, hosts.named(text), python, slots)
    if ":" not in text and "/" not in text:
        return Machines(text, hosts.of_group(text), python, slots)
    raise user_error("target-unknown", {"target": text})
