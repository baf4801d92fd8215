"""What was found in entries that nobody else should read, as types of JSON. Loaded as those of
``artifacts.shapes``.
"""

from typing import Literal, TypedDict

#: What is to become of secrets: they go along, are replaced, or the entries that they are in stay.
#: With None some are an end of it.
Secrets = Literal["allow", "redact", "leave"]


class Where(TypedDict):
    """A place in an entry: the file, "key" for the key itself, and the offset in bytes."""

    kind: str
    key: str
    path: str
    file: str
    offset: int


class Secret(Where):
    """A secret that was found: as of ``leakforms.Leak``, and how often it stands there."""

    what: str
    name: str
    excerpt: str
    times: int
    redactable: bool


class Private(Where):
    """What one may not want to tell, as of ``leakforms.Fact``, and where it was found first.

    entries, times: in how many entries it is, and how often.
    """

    what: str
    value: str
    entries: int
    times: int


class Leaks(TypedDict):
    """How many secrets were found in how many entries.

    redacted: of how many entries they were replaced; fixed: of how many they cannot be. private:
    the most frequent first.
    """

    secrets: int
    entries: int
    redacted: int
    fixed: int
    private: list[Private]
