"""A profile as the ``env:`` of a Kubernetes container, and settings from a manifest. The kubelet
puts variables in for $(NAME), and $ for $$ (k8s.io/kubernetes, its third_party/forked/golang/
expansion/expand.go); the server refuses a value that is no text, such as 1 without quotes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchkeeper.client.profiles.profile import Profile, ordered, with_password
from torchkeeper.client.profiles.taking import VARIABLE, Taking, at_line, made_of, unread
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.settings.known import BY_NAME

# A YAML text is nodes that are looked into as far as one needs to, never made into objects. What is
# looked at is counted, because aliases make a text of a few lines endless.

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


class Node:
    """A node. Looking into it raises UserError("profile-text-wrong") where that would not end."""

    def __init__(self, node: Any, steps: Iterator[int]) -> None:
        self._node = node
        self._steps = steps

    def _step(self) -> None:
        if next(self._steps, None) is None:
            raise unread(self.line, tr("Its aliases expand to far too much text"))

    @property
    def same(self) -> int:
        """Equal for nodes that are one and the same, by an alias."""
        return id(self._node)

    @property
    def line(self) -> int:
        """Where it begins, from 1."""
        return int(self._node.start_mark.line) + 1

    @property
    def kind(self) -> str:
        """ "mapping", "sequence" or "scalar"."""
        return str(self._node.id)

    @property
    def string(self) -> str | None:
        """Its text; "" of what is empty, None of what is no text, such as a number."""
        if self.kind == "scalar" and self._node.tag in (_NULL, _STRING):
            return "" if self._node.tag == _NULL else str(self._node.value)
        return None

    def text(self, key: str) -> str:
        """The text of a key, "" where there is none."""
        found = self.get(key)
        return (found and found.string) or ""

    def get(self, key: str) -> Node | None:
        """The value of a key; None without it, and of what is no mapping."""
        return dict(self.pairs()).get(key)  # the last one counts, as everywhere

    def pairs(self, merges: int = _MERGES) -> Iterator[tuple[str, Node]]:
        """Its keys that are texts, with their values; first those that are merged into it."""
        if self.kind != "mapping":
            return
        own = self._node.value[:_KEYS]
        for key, value in own:
            if key.tag == _MERGE and merges:
                for one in value.value[:_MERGES] if value.id == "sequence" else [value]:
                    if one.id == "mapping":
                        yield from Node(one, self._steps).pairs(0)
        for key, value in own:
            self._step()
            if key.id == "scalar" and key.tag != _MERGE:
                yield str(key.value), Node(value, self._steps)

    def items(self) -> Iterator[Node]:
        if self.kind == "sequence":
            for one in self._node.value:
                self._step()
                yield Node(one, self._steps)


def documents(text: str) -> list[Node]:
    """The documents of a text that hold something. Raises UserError("profile-text-wrong")."""
    import yaml

    try:
        # The parser in C would end the process on what is nested too deep.
        found = list(itertools.islice(yaml.compose_all(text, yaml.SafeLoader), _DOCUMENTS + 1))
    except yaml.YAMLError as e:
        line, said = 1, str(e)
        if isinstance(e, yaml.MarkedYAMLError):
            line = e.problem_mark.line + 1 if e.problem_mark else 1
            said = _QUOTED.sub(tr("something"), e.problem or e.context or "")
        raise unread(line, tr("It is no YAML: {why}", why=printable(said, 200))) from e
    except RecursionError as e:
        raise unread(1, tr("It is nested too deep")) from e
    if len(found) > _DOCUMENTS:
        raise unread(1, tr("It has more than {n} documents", n=_DOCUMENTS))
    steps = iter(range(_STEPS))
    return [Node(one, steps) for one in found if one is not None]


_SECRET = re.compile(r"([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)/([-._a-zA-Z0-9]{1,253})")
#: What the kubelet takes for something else: a dollar before a parenthesis, and several of them.
_DOLLARS = re.compile(r"\${2,}|\$(?=\()")
_EXPANDED = re.compile(r"\$(?:\$|\(([^)]*)\))")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_LITERAL: Text = "write $$( for a literal $("
#: How deep containers are looked for.
_DEPTH = 24
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_TEXT: Text = "Kubernetes takes nothing but a text in quotes there"


def write(profile: Profile, notes: Sequence[str], secret: str | None = None) -> str:
    """``env:``, to be put into a container, the notes above it. secret: NAME/KEY of a Secret to
    take passwords from. Raises UserError("secret-name" | "profile-no-password").
    """
    kept, reference = with_password(profile), None
    if secret is not None:
        if not kept:
            raise user_error("profile-no-password", {"name": profile.name})
        if (reference := _SECRET.fullmatch(secret)) is None:
            raise user_error("secret-name", {"secret": secret})
    lines = [f"# {note}" for note in notes] + ["env:" if profile.values else "env: []"]
    for name, text in ordered(profile):
        lines.append(f"  - name: {name}")
        if name in kept and reference:
            lines += ["    valueFrom:", "      secretKeyRef:",
                      f"        name: {_quoted(reference[1])}",
                      f"        key: {_quoted(reference[2])}"]  # fmt: skip
        else:
            lines.append(f"    value: {_quoted(_DOLLARS.sub(lambda m: m[0] * 2, text))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text in double quotes, as YAML 1.1 and 1.2 read it."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    code, short = ord(char), {"\n": "\\n", "\t": "\\t"}.get(char)
    long = f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    return short or (f"\\x{code:02x}" if code < 256 else long)


def read(text: str, container: str | None = None) -> Taking:
    """The settings of a container in manifests of any kind, of a ConfigMap, of a bare ``env:``, or
    of the list in one. container: the name of it, or of a ConfigMap, where several set something.
    Raises UserError("profile-container-which" | "profile-container-unknown" | "profile-text-wrong"
    | "profile-nothing-there" | "profile-secrets-only").
    """
    seen: set[int] = set()
    sources = [one for document in documents(text) for one in _sources(document, _DEPTH, seen)]
    secrets = [one for one in sources if one.what == "Secret"]
    sources = [one for one in sources if one.what != "Secret"]
    maps = {one.name: one for one in sources if one.what == "ConfigMap"}
    if not sources:
        raise user_error("profile-secrets-only" if secrets else "profile-nothing-there", {})
    if container is None:
        # What a ConfigMap has is the container's where that takes it from there.
        used = {name for one in sources for of, name, _ in one.takes_from if of == "configMapRef"}
        found = [one for one in sources if one.what != "ConfigMap" or one.name not in used]
    elif not (found := [one for one in sources if one.name == container]):
        params = {"container": container, "names": _names(sources) or tr("none")}
        raise user_error("profile-container-unknown", params)
    return _chosen(found, maps)


def _chosen(sources: Sequence[_Source], maps: Mapping[str, _Source]) -> Taking:
    """The settings of the one that is meant. Raises UserError("profile-container-which")."""
    sources = [one for one in sources if one.what == "container"] or sources
    takings = [one.taking(maps) for one in sources]
    # Who sets nothing that matters here is not meant: a sidecar without an env, say.
    telling = [i for i, one in enumerate(takings) if one.tells]
    telling = telling or [i for i, one in enumerate(takings) if one.tells_vllm]
    if not telling:
        return takings[0]
    first = takings[telling[0]]
    if any(takings[i] != first for i in telling[1:]):
        raise user_error("profile-container-which", {"names": _names(sources)})
    return first


def _names(sources: Sequence[_Source]) -> str:
    return ", ".join(dict.fromkeys(one.name or tr("one without a name") for one in sources))


class _Source:
    """What sets variables. what: "container", "init", "ConfigMap", "Secret" or "list"."""

    def __init__(self, what: str, name: str, node: Node) -> None:
        self.what = what
        self.name = name
        self._node = node

    @property
    def takes_from(self) -> list[tuple[str, str, str]]:
        """What a container has all of: configMapRef or secretRef, its name, a prefix."""
        found = self._node.get("envFrom")
        return [
            (kind, reference.text("name"), one.text("prefix"))
            for one in (found.items() if found else ())
            for kind in ("configMapRef", "secretRef")
            if (reference := one.get(kind)) is not None
        ]

    @property
    def data(self) -> Node:
        return self._node.get("data") or self._node

    def taking(self, maps: Mapping[str, _Source]) -> Taking:
        taking = Taking()
        if self.what == "ConfigMap":
            _pairs(self.data, taking, plain=True)
            return taking
        for kind, name, prefix in self.takes_from:
            if kind == "secretRef":
                taking.leave(f"envFrom: {name}", tr("Secrets are not read"))
            elif name in maps:
                _pairs(maps[name].data, taking, plain=True, prefix=prefix)
            else:
                taking.leave(f"envFrom: {name}", tr("what is in that ConfigMap is not in the file"))
        env = self._node if self.what == "list" else self._node.get("env")
        if env is None:
            return taking
        if env.kind == "mapping":
            _pairs(env, taking, plain=False)
        for one in env.items():
            _one(one, taking, maps)
        return taking


def _pairs(node: Node, taking: Taking, plain: bool, prefix: str = "") -> None:
    """Variables as a mapping. plain: nothing is put in for $(NAME) there."""
    for key, value in node.pairs():
        if _VARIABLE.fullmatch(prefix + key):
            _value(prefix + key, value, taking, plain)


def _one(node: Node, taking: Taking, maps: Mapping[str, _Source]) -> None:
    if not (name := node.text("name")):
        return
    if (origin := node.get("valueFrom")) is not None:
        key = origin.get("configMapKeyRef")
        there = maps.get(key.text("name")) if key else None
        if key and there and (value := there.data.get(key.text("key"))):
            _value(name, value, taking, plain=True)
            return
        kinds = [kind for kind, _ in origin.pairs()]
        where = {"secretKeyRef": tr("a Secret"), "configMapKeyRef": tr("a ConfigMap")}
        said = where.get(kinds[0], kinds[0]) if kinds else tr("nothing")
        taking.leave(name, at_line(tr("its value comes from {source}", source=said), node.line))
        return
    if (value := node.get("value")) is None:
        taking.take(name, "")
    else:
        _value(name, value, taking, plain=False)


def _value(name: str, value: Node, taking: Taking, plain: bool) -> None:
    if (text := value.string) is None:
        taking.leave(name, at_line(tr(_TEXT), value.line))
        return
    references = [m[1] for m in _EXPANDED.finditer(text) if m[1] is not None]
    if plain:
        taking.take(name, text)
    elif references:
        said = made_of(name, f"{VARIABLE}, $({references[0]})", _LITERAL)
        taking.leave(name, at_line(said, value.line))
    else:
        taking.take(name, _EXPANDED.sub("$", text))


def _sources(node: Node, depth: int, seen: set[int]) -> Iterator[_Source]:
    """All that sets variables in a document. seen: nodes that were looked into, of aliases."""
    if depth == 0 or node.same in seen:
        return
    seen.add(node.same)
    if node.kind != "mapping":
        items = list(node.items())
        if any(one.text("name") and (one.get("value") or one.get("valueFrom")) for one in items):
            yield _Source("list", "", node)
            return
        for one in items:
            yield from _sources(one, depth - 1, seen)
        return
    kind, metadata = node.text("kind"), node.get("metadata")
    name = metadata.text("name") if metadata else ""
    if kind in ("ConfigMap", "Secret"):
        yield _Source(kind, name, node)
        return
    found = False
    for key, value in node.pairs():
        if key in _CONTAINERS:
            what = "container" if key == "containers" else "init"
            found = True
            for one in value.items():
                yield _Source(what, one.text("name"), one)
        elif value.kind != "scalar" and key != "env":
            for source in _sources(value, depth - 1, seen):
                found = True
                yield source
    if found or kind:
        return
    if node.get("env") is not None:
        yield _Source("container", node.text("name"), node)
    elif depth == _DEPTH and node.get("data") is not None:
        yield _Source("ConfigMap", name, node)
    elif depth == _DEPTH and any(key in BY_NAME for key, _ in node.pairs()):
        yield _Source("ConfigMap", "", node)
