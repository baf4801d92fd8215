"""What a probe found of an interpreter, in words: the same in the window and on the command line.

What it says comes from a stranger's interpreter: whoever shows these words makes them printable.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.tongue import several, tr

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Device, Env


def told(facts: Env) -> list[tuple[str, str]]:
    """What an environment with a torch is: (name, value) of each thing worth knowing."""
    cuda, hip, cxx = facts.get("cuda"), facts.get("hip"), facts.get("cxx")
    on = "ROCm " + hip if hip else "CUDA " + cuda if cuda else tr("CPU only")
    said = [
        ("python", facts.get("python")),
        ("torch", f"{facts['torch']}, {on}"),
        (tr("torch git"), facts.get("torch_git")),
        (tr("torch key"), facts.get("torch_key")),
        ("triton", facts.get("triton")),
        (tr("system hash"), (facts.get("system") or {}).get("hash")),
        (tr("key factors"), several(len(facts.get("key_factors") or ()), "{n} known", "{n} known")),
        *((tr("device"), device(one)) for one in facts.get("devices", ())),
        (tr("driver"), facts.get("driver")),
        (tr("threads"), facts.get("threads")),
        (tr("vector"), " ".join(facts.get("vector", ()))),
        (tr("compiler"), cxx and cxx["version"]),
        (tr("platform"), facts.get("platform")),
    ]
    return [(name, str(value)) for name, value in said if value]


def settings(facts: Env) -> list[tuple[str, str, str]]:
    """Its cache folders and switches: (name, value, the variable that decided, if one did)."""
    found = []
    for one in facts.get("settings", ()):
        if (value := one["value"]) is not None:
            said = tr("on" if value else "off") if isinstance(value, bool) else str(value)
            found.append((one["name"], said, one["by"] or ""))
    return found


def without_torch(facts: Env) -> str:
    """Why there is no torch to speak of."""
    error = facts.get("torch_error")
    return tr("torch cannot be imported: {why}", why=error) if error else tr("no torch")


def not_started(label: str) -> str:
    """Of an interpreter that may not be started before somebody has named it."""
    return tr("found, not started ({label})", label=label)


def to_add(pythons: list[str]) -> str:
    """How interpreters that were found, and not started, come to be started."""
    return several(
        len(pythons),
        "{n} was found and not started: nobody has named it, and to start it is to run what lies "
        "in its folder. To have it started: torchkeeper env --add {python}",
        "{n} were found and not started: nobody has named them, and to start one is to run what "
        "lies in its folder. To have one started: torchkeeper env --add {python}",
        python=shlex.quote(pythons[0]),
    )


def lines(python: str, facts: Env) -> list[str]:
    """An environment, a line for each thing worth knowing, under its interpreter."""
    if not facts.get("torch"):
        return [python, f"  {without_torch(facts)}"]
    said = told(facts)
    for name, value, by in settings(facts):
        value = tr("{value}  (by {variable})", value=value, variable=by) if by else value
        said.append((name, value))
    width = max(len(name) for name, _ in said)
    return [python] + [f"  {name.ljust(width)}  {value}" for name, value in said]


def device(one: Device) -> str:
    """A device: what it is, its name, architecture and memory."""
    memory = one.get("memory")
    more = "" if memory is None else f", {say.size(memory)}"
    return f"{one['type']}: {one['name']} ({one['arch']}){more}"
