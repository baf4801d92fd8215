"""What PyTorch calls the system, of which a key holds the hash: the GPU, the versions of what it is
used by, and what other backends tell of themselves (CacheBase.get_system in
torch/_inductor/codecache.py).

Triton's version is followed by hashes of its sources, which say nothing to people.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping

#: Characters of a value that are told.
_MAX = 80
#: Of Triton's sources there are some thirty hashes, of 64 digits each.
_QUOTED = re.compile(r"'(\w{1,40})': '([^']{0,20000})'")
#: The version, and the hash of the first of Triton's sources (triton_key in
#: triton/runtime/cache.py).
_KEY = re.compile(r"([0-9][0-9A-Za-z.+_]{0,40}?)[0-9a-f]{64}(?:-|$)")
#: The parts of a system, by the names that key factors have in it.
_DEVICE, _VERSION, _OTHERS = "device", "version", "device_interfaces"


def of_factors(values: Mapping[str, str]) -> dict[str, str]:
    """What a system is, from the values of its key factors: ``{"version": "{'triton': '…'}"}``."""
    found = dict(_quoted(values.get(_VERSION)))
    if name := dict(_quoted(values.get(_DEVICE))).get("name"):
        found["gpu"] = name
    if others := values.get(_OTHERS):
        found["device_interfaces"] = others
    return found


def of_probe(system: Mapping[str, object] | None) -> dict[str, str] | None:
    """The same of ``CacheBase.get_system``, as a probe tells it; None where it does not."""
    if system is None:
        return None
    device, versions = system.get(_DEVICE), system.get(_VERSION)
    found = {}
    if isinstance(device, Mapping) and isinstance(device.get("name"), str):
        found["gpu"] = str(device["name"])
    if isinstance(versions, Mapping):
        found |= {str(name): str(value) for name, value in versions.items() if value is not None}
    if others := system.get(_OTHERS):
        found["device_interfaces"] = str(others)
    return found


def differing(
    own: Mapping[str, object], here: Mapping[str, str], known: Mapping[str, object]
) -> Iterable[tuple[str, str | None, str | None]]:
    """(name, what the entry has, what is here) of each part that is another, as people say it.

    known: the versions of an environment, for what it does not put into its keys.
    """
    for name in dict.fromkeys((*own, *here)):
        a, b = own.get(name), here.get(name)
        if a != b:
            there = told(name, b)
            if there is None and isinstance(version := known.get(name), str):
                there = version[:_MAX]
            yield name, told(name, a), there


def told(name: str, value: object) -> str | None:
    """A part of a system as people say it, without hashes."""
    if value is None:
        return None
    text = str(value)
    if name == "triton":
        return triton_version(text) or text[:12]
    if name == "device_interfaces":
        # Of what each of them tells nothing is known here.
        names = re.findall(r"'(\w{1,40})': \{", text[:2000])
        return ", ".join(dict.fromkeys(names))[:_MAX] or None
    return text[:_MAX]


def triton_version(key: str) -> str | None:
    """Triton's version in the text that stands for its sources; None where it is no such text."""
    match = _KEY.match(key)
    return match[1] if match else None


def tritons(a: str | None, b: str | None) -> tuple[str | None, str | None, bool]:
    """Two such texts that differ, as people say it, and whether these are versions: of the same
    version, the beginnings of the first hashes that differ.
    """
    own, other = (triton_version(key or "") for key in (a, b))
    if own != other and (own or a is None) and (other or b is None):
        return own, other, True
    hashes = [
        (key or "")[len(version or "") :].split("-") for key, version in ((a, own), (b, other))
    ]
    pairs = itertools.zip_longest(*hashes, fillvalue="")
    one, two = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    return (None if a is None else one[:12]), (None if b is None else two[:12]), False


def versions(text: str | None) -> dict[str, str]:
    """The parts of the key factor that tells the versions."""
    return dict(_quoted(text))


def _quoted(text: str | None) -> list[tuple[str, str]]:
    return _QUOTED.findall(text or "")
