"""What a server says of itself, in words: its figures, and what they mean for a cache."""

from __future__ import annotations

from typing import Any

from torchkeeper.link import say
from torchkeeper.link.words import printable


def number(page: dict[str, Any], name: str) -> int | None:
    """A count that a server says; None where it does not."""
    value = page.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def figures(page: dict[str, Any]) -> list[tuple[str, str]]:
    """What a server says of itself, as (name, value); nothing for what it did not say."""
    found: list[tuple[str, str]] = []

    def add(name: str, value: str) -> None:
        if value:
            found.append((name, value))

    add("Version", printable(str(page.get("version") or ""), 80))
    if (used := number(page, "used_memory")) is not None:
        add("Memory used", say.size(used))
    if (limit := number(page, "max_memory")) is not None:
        add("Memory limit", say.size(limit) if limit else "none")
    add("When it is full", printable(str(page.get("policy") or ""), 80))
    if (evicted := number(page, "evicted")) is not None:
        add("Evicted keys", f"{evicted:,}")
    hits, misses = number(page, "hits"), number(page, "misses")
    if hits is not None and misses is not None:
        share = f" ({round(100 * hits / (hits + misses))} % hits)"
        text = "{} hits, {} misses".format(f"{hits:,}", f"{misses:,}")
        add("Reads", text + (share if hits + misses else ""))
    keys, expiring = number(page, "keys"), number(page, "expiring")
    if keys is not None:
        add("Keys in this database", f"{keys:,}")
    if keys and expiring is not None:
        never = keys - expiring
        text = "{} ({} %)".format(f"{never:,}", round(100 * never / keys))
        add("Keys that never expire", text)
    if (clients := number(page, "clients")) is not None:
        add("Clients", f"{clients:,}")
    add("Changes", changes(page))
    return found


#: What can be done to a server, and why not; what else there is, it says in its own words.
_CHANGES = {"copy": "copying to it", "expire": "setting an expiry", "purge": "purging"}
_WHY_NOT = {
    "server-forbids": "this user may not",
    "server-read-only": "it is a replica",
    "server-out-of-memory": "it has no memory left",
    "server-cannot-save": "it cannot save them",
}


def changes(page: dict[str, Any]) -> str:
    """Whether it may be changed, in a few words; empty where that is not known."""
    told = page.get("changes")
    if not isinstance(told, dict):
        return ""
    known = {_CHANGES[name]: code for name, code in told.items() if name in _CHANGES}
    able = [name for name, code in known.items() if code is None]
    if not known or len(able) == len(known):
        return "allowed" if known else ""
    parts = [", ".join(able)] if able else []
    for code in sorted({str(code) for code in known.values() if code is not None}):
        names = " or ".join(name for name, why in known.items() if why == code)
        why = _WHY_NOT.get(code, "it refuses")
        parts.append(f"not {names} ({why})" if able else f"none: {why}")
    return "; ".join(parts)


def meanings(page: dict[str, Any]) -> list[str]:
    """What that means, in plain words."""
    words = {
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
    told = page.get("meanings")
    return [words[x] for x in told if x in words] if isinstance(told, list) else []
