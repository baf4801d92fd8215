"""A YAML text as nodes that are looked into as far as one needs to, and never made into objects.

What is looked at is counted, because aliases make a text of a few lines endless. Each node knows
its line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from torchkeeper.link.profiles.taking import unread
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import tr

_STRING = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"
_MERGE = "tag:yaml.org,2002:merge"
#: Mappings that are merged into one, and keys of one, at most.
_MERGES, _KEYS = 8, 10_000
#: What a message quotes of the text, which may be a password: *word is an alias.
_QUOTED = re.compile(r"(['\"])(?!<).{3,}\1")
#: Documents of a text, and keys and items that are looked at in all of them, at most. A manifest of
#: the largest size that is read needs a quarter of these.
_DOCUMENTS, _STEPS = 1000, 1_000_000


class Steps:
    """Counts what is looked at in a text."""

    def __init__(self) -> None:
        self._left = _STEPS

    def go(self, line: int) -> None:
        """One more. Raises UserError("profile-text-wrong") where those were too many."""
        self._left -= 1
        if self._left < 0:
            raise unread(line, tr("Its aliases make more of it than anybody would write"))


class Node:
    """A node of a document. What looks into it raises UserError("profile-text-wrong") where that
    would not come to an end soon.
    """

    def __init__(self, node: Any, steps: Steps) -> None:
        self._node = node
        self._steps = steps

    @property
    def same(self) -> int:
        """Equal for nodes that are one and the same, by an alias."""
        return id(self._node)

    @property
    def line(self) -> int:
        """Where it begins, from 1."""
        return int(self._node.start_mark.line) + 1

    @property
    def is_mapping(self) -> bool:
        """Whether it has keys."""
        return bool(self._node.id == "mapping")

    @property
    def is_scalar(self) -> bool:
        """Whether it has neither keys nor items."""
        return bool(self._node.id == "scalar")

    @property
    def string(self) -> str | None:
        """Its text; "" of what is empty, None of what is no text, such as a number."""
        if not self.is_scalar:
            return None
        if self._node.tag == _NULL:
            return ""
        return str(self._node.value) if self._node.tag == _STRING else None

    def text(self, key: str) -> str:
        """The text of a key, "" where there is none."""
        found = self.get(key)
        return (found.string or "") if found is not None else ""

    def get(self, key: str) -> Node | None:
        """The value of a key; None without it, and of what is no mapping."""
        found = None
        for name, value in self.pairs():
            if name == key:
                found = value  # the last one counts, as everywhere
        return found

    def pairs(self, merges: int = _MERGES) -> Iterator[tuple[str, Node]]:
        """Its keys that are texts, with their values; first those that are merged into it."""
        if not self.is_mapping:
            return
        own = self._node.value[:_KEYS]
        for key, value in own:
            if key.tag == _MERGE and merges:
                for one in value.value[:_MERGES] if value.id == "sequence" else [value]:
                    if one.id == "mapping":
                        yield from Node(one, self._steps).pairs(0)
        for key, value in own:
            self._steps.go(self.line)
            if key.id == "scalar" and key.tag != _MERGE:
                yield str(key.value), Node(value, self._steps)

    def items(self) -> Iterator[Node]:
        """Its items; none of what is no sequence."""
        if self._node.id == "sequence":
            for one in self._node.value:
                self._steps.go(self.line)
                yield Node(one, self._steps)


def documents(text: str) -> list[Node]:
    """The documents of a text that hold something. Raises UserError("profile-text-wrong")."""
    import yaml

    try:
        # The parser in C would end the process on what is nested too deep.
        composed = yaml.compose_all(text, yaml.SafeLoader)
        found = list(itertools.islice(composed, _DOCUMENTS + 1))
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else 1
        said = _QUOTED.sub(tr("something"), e.problem or e.context or "")
        why = tr("It is no YAML: {why}", why=printable(said, 200))
        raise unread(line, why) from e
    except yaml.YAMLError as e:
        raise unread(1, tr("It is no YAML: {why}", why=printable(str(e), 200))) from e
    except RecursionError as e:
        raise unread(1, tr("It is nested too deep")) from e
    if len(found) > _DOCUMENTS:
        raise unread(1, tr("It has more than {n} documents", n=_DOCUMENTS))
    steps = Steps()
    return [Node(one, steps) for one in found if one is not None]
