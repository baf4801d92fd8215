"""Which target a name is."""

from __future__ import annotations

from torchkeeper.client.kept import hosts
from torchkeeper.client.words.problems import user_error
from torchkeeper.placing.machines import Machines
from torchkeeper.placing.target import Target
from torchkeeper.stores.ssh import SCHEME

LOCAL, SLURM = "local", "slurm"
#: Of it only manifests are printed (``cli.manifests``).
KUBERNETES = "kubernetes"
#: How the names of Ray clusters begin.
_RAY = ("ray:", "http://", "https://")


def target(text: str, python: str | None = None, slots: int | None = None) -> Target:
    """The target of a name: ``local``, ``ssh://host``, a group of hosts, ``slurm`` and
    ``slurm:partition``, or a Ray cluster as ``http://head:8265`` and ``ray://head:10001``. python:
    the interpreter there; slots: units at a time on each node; by default as the target has it.
    Raises UserError.
    """
    # Each is loaded where it is named: most need none of these.
    if text.startswith(_RAY):
        from torchkeeper.placing.ray import Ray

        return Ray(text, python, slots)
    if _is_slurm(text):
        from torchkeeper.placing.slurm import Slurm

        return Slurm(text, python, slots)
    return Machines(text, machines(text), python, slots)


def machines(text: str) -> list[str]:
    """The machines of a target, as far as its name tells: "" is this one; of a cluster its name.
    Raises UserError.
    """
    if text.startswith(_RAY) or _is_slurm(text):
        return [text]
    if text == LOCAL:
        return [""]
    if text.startswith(SCHEME):
        return hosts.named(text)
    if text.partition(":")[0] == KUBERNETES:
        raise user_error("target-kubernetes", {})
    if ":" not in text and "/" not in text:
        return hosts.of_group(text)
    raise user_error("target-unknown", {"target": text})


def _is_slurm(text: str) -> bool:
    return text == SLURM or text.startswith(f"{SLURM}:")
