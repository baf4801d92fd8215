"""What a server says of itself, in words: its figures, and what they mean for a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Text, tr

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import ServerResult


def figures(page: ServerResult) -> list[tuple[str, str]]:
    """What a server says of itself, as (name, value); nothing for what it did not say."""
    used, limit = page["used_memory"], page["max_memory"]
    hits, misses, reads = page["hits"], page["misses"], ""
    if hits is not None and misses is not None:
        reads = tr("{hits} hits, {misses} misses", hits=hits, misses=misses)
        if tried := hits + misses:
            reads = tr("{reads} ({share}% hits)", reads=reads, share=round(100 * hits / tried))
    keys, expiring, forever = page["keys"], page["expiring"], ""
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
    told = page["changes"]
    known = {tr(_CHANGES[name]): code for name, code in told.items() if name in _CHANGES}
    able = [name for name, code in known.items() if code is None]
    if not known or len(able) == len(known):
        return tr("allowed") if known else ""
    parts = [", ".join(able)] if able else []
    for code in sorted({str(code) for code in known.values() if code is not None}):
        names = say.either([name for name, why in known.items() if why == code])
        why = tr(_WHY_NOT.get(code, _WHY_NOT[""]))
        parts.append(tr("not {changes} ({why})" if able else "none: {why}", changes=names, why=why))
    return "; ".join(parts)


#: What its figures mean.
_MEANINGS: dict[str, Text] = {
    "replica": "It repeats another server and takes no writes. Purge on that one.",
    "policy-noeviction-no-limit": (
        "It has no memory limit: the cache grows until the machine has no memory left. "
        "A limit with allkeys-lru drops what is not used."
    ),
    "policy-noeviction-full": (
        "It is nearly full and drops nothing. PyTorch will fail to write to it without a "
        "word: purge, give it more memory, or set the policy to allkeys-lru."
    ),
    "evicting": ("It has dropped keys because it was full. What is dropped is compiled again."),
    "evicts-nothing-of-ours": (
        "It drops only keys with an expiry, and PyTorch never sets one: when it is full, "
        "writes fail. Set an expiry on entries, or choose a policy that begins with allkeys."
    ),
    "never-expires": (
        "No key expires: what no program needs any more stays until somebody purges it."
    ),
    "looking-counts-as-use": (
        "This server cannot tell a look from a use, so it is not known when entries were last "
        "used. From version 7.2 on it can."
    ),
    "facts-forbidden": "It does not tell this user all figures.",
}


def meanings(page: ServerResult) -> list[str]:
    """What that means, in plain words."""
    return [tr(_MEANINGS[x]) for x in page["meanings"] if x in _MEANINGS]
