"""What a probe found of an interpreter, and what a server says of itself, in words. It comes from
strangers: whoever shows these words makes them printable.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Text, several, tr

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import ServerResult
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
    error = facts.get("torch_error")
    return tr("torch cannot be imported: {why}", why=error) if error else tr("no torch")


def not_started(label: str) -> str:
    """Of an interpreter that may not be started before somebody has named it."""
    return tr("found, not started ({label})", label=label)


def to_add(pythons: list[str]) -> str:
    """How interpreters that were found, and not started, come to be started."""
    return several(
        len(pythons),
        "Torchkeeper found {n} interpreter, but did not start it: you have not named it, and "
        "starting it runs code of its folder. To start it: torchkeeper env --add {python}",
        "Torchkeeper found {n} interpreters, but did not start them: you have not named them, and "
        "starting one runs code of its folder. To start one: torchkeeper env --add {python}",
        python=shlex.quote(pythons[0]),
    )


def lines(python: str, facts: Env) -> list[str]:
    if not facts.get("torch"):
        return [python, f"  {without_torch(facts)}"]
    said = told(facts)
    for name, value, by in settings(facts):
        value = tr("{value}  (by {variable})", value=value, variable=by) if by else value
        said.append((name, value))
    width = max(len(name) for name, _ in said)
    return [python] + [f"  {name.ljust(width)}  {value}" for name, value in said]


def device(one: Device) -> str:
    more = "" if (memory := one.get("memory")) is None else f", {say.size(memory)}"
    return f"{one['type']}: {one['name']} ({one['arch']}){more}"


# What a server says of itself, in words: its figures, and what they mean for a cache.


def figures(page: ServerResult) -> list[tuple[str, str]]:
    """What a server says of itself, as (name, value); nothing for what it did not say."""
    used, limit, reads, forever = page["used_memory"], page["max_memory"], "", ""
    hits, misses, keys, expiring = page["hits"], page["misses"], page["keys"], page["expiring"]
    if hits is not None and misses is not None:
        reads = tr("{hits} hits, {misses} misses", hits=hits, misses=misses)
        if tried := hits + misses:
            reads = tr("{reads} ({share}% hits)", reads=reads, share=round(100 * hits / tried))
    if keys and expiring is not None:
        never = keys - expiring
        forever = f"{never:,} ({round(100 * never / keys)}%)"
    said = [
        (tr("Version"), printable(page["version"] or "", 80)),
        (tr("Memory used"), "" if used is None else say.size(used)),
        (tr("Memory limit"), "" if limit is None else say.size(limit) if limit else tr("none")),
        (tr("When it is full"), printable(page["policy"] or "", 80)),
        (tr("Evicted keys"), _number(page["evicted"])),
        (tr("Reads"), reads),
        (tr("Keys in this database"), _number(keys)),
        (tr("Keys that never expire"), forever),
        (tr("Clients"), _number(page["clients"])),
        (tr("Changes"), changes(page)),
    ]
    return [(name, value) for name, value in said if value]


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


#: What can be done to a server, and why not; what else there is, it says in its own words.
_CHANGES: dict[str, Text] = {
    "copy": "copying to it",
    "expire": "setting an expiry",
    "purge": "purging",
}
_WHY_NOT: dict[str, Text] = {
    "server-forbids": "this user may not",
    "server-read-only": "it is a replica",
    "server-out-of-memory": "it has no memory left",
    "server-cannot-save": "it cannot save them",
    "": "it refuses",
}


def changes(page: ServerResult) -> str:
    """Whether it may be changed, in a few words; empty where that is not known."""
    known = {tr(_CHANGES[name]): code for name, code in page["changes"].items() if name in _CHANGES}
    able = [name for name, code in known.items() if code is None]
    if not known or len(able) == len(known):
        return tr("allowed") if known else ""
    parts = [", ".join(able)] if able else []
    for code in sorted({str(code) for code in known.values() if code is not None}):
        names = say.either([name for name, why in known.items() if why == code])
        why = tr(_WHY_NOT.get(code, _WHY_NOT[""]))
        parts.append(tr("not {changes} ({why})" if able else "none: {why}", changes=names, why=why))
    return "; ".join(parts)


_MEANINGS: dict[str, Text] = {
    "replica": "It repeats another server and takes no writes. Purge on that one.",
    "policy-noeviction-no-limit": "It has no memory limit: the cache grows until the machine has "
    "no memory left. A limit with allkeys-lru drops what is not used.",
    "policy-noeviction-full": "It is nearly full and drops nothing. PyTorch will fail to write to "
    "it without a message: purge, give it more memory, or set allkeys-lru as policy.",
    "evicting": "It has dropped keys because it was full. What is dropped is compiled again.",
    "evicts-nothing-of-ours": "It drops only keys with an expiry, and PyTorch never sets one: when "
    "it is full, writes fail. Set an expiry on entries, or choose a policy that begins with "
    "allkeys.",
    "never-expires": "No key expires: what no program needs any more stays until somebody purges "
    "it.",
    "looking-counts-as-use": "On this server, looking counts as a use, so it is not known when "
    "programs last used entries. Version 7.2 and later can tell.",
    "facts-forbidden": "It does not tell this user all figures.",
}


def meanings(page: ServerResult) -> list[str]:
    return [tr(_MEANINGS[x]) for x in page["meanings"] if x in _MEANINGS]
