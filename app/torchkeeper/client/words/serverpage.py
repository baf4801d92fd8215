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
    found: list[tuple[str, str]] = []

    def add(name: str, value: str) -> None:
        if value:
            found.append((name, value))

    add(tr("Version"), printable(page["version"] or "", 80))
    if (used := page["used_memory"]) is not None:
        add(tr("Memory used"), say.size(used))
    if (limit := page["max_memory"]) is not None:
        add(tr("Memory limit"), say.size(limit) if limit else tr("none"))
    add(tr("When it is full"), printable(page["policy"] or "", 80))
    if (evicted := page["evicted"]) is not None:
        add(tr("Evicted keys"), f"{evicted:,}")
    hits, misses = page["hits"], page["misses"]
    if hits is not None and misses is not None:
        text = tr("{hits} hits, {misses} misses", hits=hits, misses=misses)
        if hits + misses:
            share = round(100 * hits / (hits + misses))
            text = tr("{reads} ({share}% hits)", reads=text, share=share)
        add(tr("Reads"), text)
    keys, expiring = page["keys"], page["expiring"]
    if keys is not None:
        add(tr("Keys in this database"), f"{keys:,}")
    if keys and expiring is not None:
        never = keys - expiring
        add(tr("Keys that never expire"), f"{never:,} ({round(100 * never / keys)}%)")
    if (clients := page["clients"]) is not None:
        add(tr("Clients"), f"{clients:,}")
    add(tr("Changes"), changes(page))
    return found


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
        parts.append(
            tr("not {changes} ({why})", changes=names, why=why)
            if able
            else tr("none: {why}", why=why)
        )
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
