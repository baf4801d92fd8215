"""Why something is not possible, in an engine's own words: what of it is in the language that is
used.

An engine says it in English, with its figures in it. What the system or PyTorch says stays as it
is.
"""

from __future__ import annotations

import re
import string
from functools import cache

from torchkeeper.link.words.tongue import Text, is_english, tr

#: What engines say with figures in it, the longer of two that fit first; what they say without is
#: found where they do.
TEMPLATES: tuple[Text, ...] = (
    # Filters
    "the fields are {fields}; quotes make it a text to look for",
    "{field} takes “:”",
    "{field} takes <, >, <=, >= or =",
    "the kinds are {kinds}",
    "the states are {states}",
    "a number is expected; units: {units}",
    # Bundles
    "{name} is compressed or encrypted",
    "{name} cannot be read ({why})",
    "{name} cannot be read",
    "It cannot be read ({why})",
    "It holds {name} twice",
    "It holds the path {name}",
    "{name} unpacks out of proportion",
    "{name} is compressed in an unusual way",
    "{name} would lie outside of it",
    "Its manifest has a strange entry of kind {kind}",
    "it has more than {n} artifacts",
    # Who signed a bundle
    "by nobody",
    "by a key that is not among your signers ({key})",
    "by {key}, which could not be checked: there is no ssh-keygen here",
    "by {signer} ({key})",
    # What differs between two CPUs
    "{flags} is missing here and {more} is only here",
    "{flags} is missing here",
    "{flags} is only here",
    # Compiling
    "PyTorch compiled it, but cannot use it: {why}",
    "this Triton has no backend {backend}",
    "Its process ended by itself, with exit status {status}; the last that it said: {last}",
    "Its process ended by itself, with exit status {status}",
)


def reworded(why: str) -> str:
    """The same in the language that is used, where it is a text of ours."""
    said = tr(why)
    if is_english() or said != why:
        return said
    for template in TEMPLATES:
        if match := _pattern(template).fullmatch(why):
            return tr(template, **match.groupdict())
    return why


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What a template has been filled in to."""
    parts = [
        re.escape(text) + (f"(?P<{name}>.+?)" if name else "")
        for text, name, _, _ in string.Formatter().parse(template)
    ]
    return re.compile("".join(parts), re.DOTALL)
