"""What a problem is said with: templates, some of which go with a number."""

from __future__ import annotations

from typing import NamedTuple

from torchkeeper.client.words.tongue import Text

UNWRITABLE: Text = "{file} cannot be written: {why}."
ROOM: Text = "Check the folder's permissions, and that its disk is not full."
AGAIN: Text = "Get it again from where it was made. Nothing was changed."


class Forms(NamedTuple):
    """A template that goes with a number: a parameter, or the sum of several, ``files+locks``."""

    one: str
    many: str
    of: str = "count"


class Words(NamedTuple):
    """Templates for one code; ``{name}`` stands for a parameter."""

    what: str | Forms
    why: str | Forms = ""
    remedy: str | Forms = ""
