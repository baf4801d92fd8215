"""A profile as the ``env:`` of a Kubernetes container, and settings from a manifest.

The kubelet puts other variables in for $(NAME) in a value and makes $$ a $ (k8s.io/kubernetes,
third_party/forked/golang/expansion/expand.go). A value has to be a text: 1 without quotes is
refused by the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchkeeper.link.profiles.profile import Profile, ordered, with_password
from torchkeeper.link.profiles.taking import Taking, made_of
from torchkeeper.link.profiles.yamlnodes import Node, documents
from torchkeeper.link.words import user_error
from torchkeeper.settings.known import BY_NAME

_SECRET = re.compile(r"([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)/([-._a-zA-Z0-9]{1,253})")
#: What the kubelet takes for something else: a dollar before a parenthesis, and several of them.
_DOLLARS = re.compile(r"\${2,}|\$(?=\()")
_EXPANDED = re.compile(r"\$(?:\$|\(([^)]*)\))")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_LITERAL = "a $( that is a part of it is written $$("
#: How deep containers are looked for.
_DEPTH = 24
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_TEXT = "Kubernetes takes nothing but a text in quotes there"


def write(profile: Profile, notes: Sequence[str], secret: str | None = None) -> str:
    """``env:``, to be put into a container; each of the notes becomes a comment above it.

    secret: NAME/KEY of a Secret from which what holds a password is to be taken. Raises
    UserError("secret-name" | "profile-no-password").
    """
    if secret is not None and not with_password(profile):
        raise user_error("profile-no-password", {"name": profile.name})
    reference = _SECRET.fullmatch(secret) if secret is not None else None
    if secret is not None and reference is None:
        raise user_error("secret-name", {"secret": secret})
    lines = [f"# {note}" for note in notes] + ["env:" if profile.values else "env: []"]
    kept = with_password(profile) if reference else []
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
    if char in "\n\t":
        return "\\n" if char == "\n" else "\\t"
    if char.isprintable():
        return char
    code = ord(char)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def read(text: str, container: str | None = None) -> Taking:
    """The settings of a container in manifests of any kind, of a ConfigMap, of a bare ``env:``, or
    of the list in one. container: the name of it, or of a ConfigMap, where there are several.

    Raises UserError("profile-container-which" | "profile-container-unknown" |
    "profile-text-wrong" | "profile-nothing-there").
    """
    sources = [one for document in documents(text) for one in _sources(document, _DEPTH)]
    if container is not None:
        found = [one for one in sources if one.name == container]
        if not found:
            params = {"container": container, "names": _names(sources) or "none"}
            raise user_error("profile-container-unknown", params)
        sources = found
    if not sources:
        raise user_error("profile-nothing-there", {})
    maps = {one.name: one for one in sources if one.what == "ConfigMap"}
    # What a ConfigMap has is the container's where that takes it from there.
    used = {name for one in sources for name in one.takes_from}
    choice = [one for one in sources if not (one.what == "ConfigMap" and one.name in used)]
    takings = [one.taking(maps) for one in choice]
    if len(choice) > 1 and any(one != takings[0] for one in takings):
        ours = [i for i, one in enumerate(choice) if one.what == "container"]
        if len(ours) != 1:
            raise user_error("profile-container-which", {"names": _names(choice)})
        return takings[ours[0]]
    return takings[0]


def _names(sources: Sequence[_Source]) -> str:
    return ", ".join(dict.fromkeys(one.name or "one without a name" for one in sources))


class _Source:
    """What sets variables. what: "container", "init", "ConfigMap" or "list"."""

    def __init__(self, what: str, name: str, node: Node) -> None:
        self.what = what
        self.name = name
        self._node = node

    @property
    def takes_from(self) -> list[str]:
        """The ConfigMaps of which a container has all."""
        found = self._node.get("envFrom")
        references = [one.get("configMapRef") for one in (found.items() if found else [])]
        return [ref.text("name") for ref in references if ref is not None]

    def taking(self, maps: dict[str, _Source]) -> Taking:
        """The settings of it."""
        taking = Taking()
        if self.what == "ConfigMap":
            _pairs(self._node.get("data") or self._node, taking, plain=True)
            return taking
        for name in self.takes_from:
            if name in maps:
                _pairs(maps[name]._node.get("data") or self._node, taking, plain=True)
            else:
                taking.leave(f"envFrom: {name}", "what is in that ConfigMap is not in the file")
        env = self._node if self.what == "list" else self._node.get("env")
        if env is None:
            return taking
        if env.is_mapping:
            _pairs(env, taking, plain=False)
        for one in env.items():
            _one(one, taking)
        return taking


def _pairs(node: Node, taking: Taking, plain: bool) -> None:
    """Variables as a mapping. plain: nothing is put in for $(NAME) there."""
    for name, value in node.pairs():
        if not _VARIABLE.fullmatch(name):
            continue
        _value(name, value, taking, plain)


def _one(node: Node, taking: Taking) -> None:
    """An item of a container's ``env``."""
    name = node.text("name")
    if not name:
        return
    if (origin := node.get("valueFrom")) is not None:
        kinds = [kind for kind, _ in origin.pairs()]
        where = {"secretKeyRef": "a Secret", "configMapKeyRef": "a ConfigMap"}
        said = where.get(kinds[0], kinds[0]) if kinds else "nothing"
        taking.leave(name, f"its value comes from {said} (line {node.line})")
        return
    value = node.get("value")
    if value is None:
        taking.take(name, "")
    else:
        _value(name, value, taking, plain=False)


def _value(name: str, value: Node, taking: Taking, plain: bool) -> None:
    text = value.string
    if text is None:
        taking.leave(name, f"{_TEXT} (line {value.line})")
        return
    if plain:
        taking.take(name, text)
        return
    references = [m[1] for m in _EXPANDED.finditer(text) if m[1] is not None]
    if references and name in BY_NAME:
        said = made_of(name, f"another variable, $({references[0]})", _LITERAL)
        taking.leave(name, f"it is {said} (line {value.line})")
        return
    taking.take(name, _EXPANDED.sub("$", text))


def _sources(node: Node, depth: int) -> Iterator[_Source]:
    """All that sets variables in a document."""
    if depth == 0:
        return
    if not node.is_mapping:
        items = list(node.items())
        if any(one.text("name") and (one.get("value") or one.get("valueFrom")) for one in items):
            yield _Source("list", "", node)
            return
        for one in items:
            yield from _sources(one, depth - 1)
        return
    kind, name = node.text("kind"), ""
    if metadata := node.get("metadata"):
        name = metadata.text("name")
    if kind == "ConfigMap":
        yield _Source("ConfigMap", name, node)
        return
    found = False
    for key, value in node.pairs():
        if key in _CONTAINERS:
            what = "container" if key == "containers" else "init"
            found = True
            for one in value.items():
                yield _Source(what, one.text("name"), one)
        elif not value.is_scalar and key != "env":
            for source in _sources(value, depth - 1):
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
