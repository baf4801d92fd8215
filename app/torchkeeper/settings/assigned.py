"""What the source of a program does to settings, read without running any of it.

Seen are assignments, calls and options that name a setting, under whatever name the module was
imported: ``torch._inductor.config.fx_graph_cache = False``, ``config.patch(...)``, ``setattr``,
``torch.compile(options=...)``, ``triton.knobs.cache.dir = …``, and ``os.environ`` in all its ways.
Not seen is what is done by names that are made up while it runs, or in C.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from torchkeeper.settings.known import BY_NAME, SETTINGS
from torchkeeper.settings.masks import shown

#: How a source sets a setting: the attribute; the attribute for a while; for one compile; the
#: variable; the variable if it has no value; no variable any more; a new empty folder for a while.
HOWS = ("assigned", "patched", "options", "variable", "variable-default", "unset", "fresh")

_INDUCTOR = "torch._inductor.config."
#: Of all variables that mean the same, the one whose setting stands for them.
CHIEF = {one.name: (one.same or (one.name,))[0] for one in SETTINGS}
_ATTRIBUTES = {
    # An alias, in torch/_inductor/config.py.
    "torch._inductor.config.force_disable_caches": "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    **{one.config: CHIEF[one.name] for one in SETTINGS if one.config},
}
#: Where a call takes Inductor's settings: its name, and the argument.
_OPTIONS = {
    "torch.compile": ("options", 5),
    "torch._inductor.compile": ("options", 2),
    "torch._inductor.aot_compile": ("options", 3),
    "torch._inductor.aoti_compile_and_package": ("inductor_configs", -1),
}
#: Calls that give a part of a program a cache folder of its own (torch/_inductor/utils.py).
_FRESH = frozenset(
    f"torch._inductor.utils.{name}"
    for name in ("fresh_cache", "fresh_inductor_cache", "fresh_remote_cache")
)
#: What is told of one source, at most, and characters of a value.
_MAX_FOUND, _MAX_TEXT = 200, 33 << 10


@dataclass(frozen=True)
class Assigned:
    """A place in a source that sets a setting. name: of the setting, CHIEF where several variables
    mean the same. line: from 1. how: one of HOWS. value: as the variable would have it, None for
    none, without a password; computed: what it comes to does not stand there. top: it is done at
    any run or import of the module. late: torch was imported above. variable: that is set, or "".
    """

    name: str
    line: int
    how: str
    value: str | None = None
    computed: bool = False
    top: bool = False
    late: bool = False
    variable: str = ""


@dataclass(frozen=True)
class Source:
    """What a source does: to settings, in the order of its lines, and what it imports."""

    assigned: tuple[Assigned, ...]
    imports: tuple[Imported, ...]


class Unreadable(ValueError):
    """A source that is no Python of this version, or too deep to be read; says which it is."""


def look(source: bytes, main: bool = False) -> Source:
    """What a source does; main: it is what is run. Raises Unreadable and nothing else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _Look(ast.parse(source), main).source()
    except (RecursionError, MemoryError):
        raise Unreadable("too-deep") from None
    except (SyntaxError, ValueError, LookupError, OverflowError):
        # A zero byte, an encoding that is none, a number with too many digits.
        raise Unreadable("not-python") from None


class _Look:
    """Looks through the tree of one source."""

    def __init__(self, tree: ast.Module, main: bool) -> None:
        self._nodes = list(walked(tree, main))
        self._names = Names(self._nodes)
        self._found: list[Assigned] = []
        self._top = False

    def source(self) -> Source:
        for node, top in self._nodes:
            if len(self._found) >= _MAX_FOUND:
                break
            self._top = top
            self._see(node)
        found = sorted(self._found, key=lambda one: one.line)
        return Source(tuple(found), tuple(self._names.imports))

    def _see(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value:
            self._assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            if self._names.dotted(node.target) == "os.environ":
                self._variables(node.value, node.lineno)
            else:
                self._assign(node.target, None)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    self._subscript(target, None, "unset")
        elif isinstance(node, ast.Call):
            self._call(node)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            values: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(values):
                values = list(value.elts)
            for one, its in zip(target.elts, values, strict=True):
                if not isinstance(one, (ast.Tuple, ast.List)):
                    self._assign(one, its)
        elif isinstance(target, ast.Subscript):
            self._subscript(target, value, "variable")
        elif isinstance(target, ast.Attribute):
            name = _ATTRIBUTES.get(self._names.dotted(target), "")
            self._add(name, target.lineno, "assigned", value)

    def _subscript(self, target: ast.Subscript, value: ast.expr | None, how: str) -> None:
        if self._names.dotted(target.value) in ("os.environ", "os.environb"):
            self._variable(target.slice, value, target.lineno, how)

    def _variable(
        self, key: ast.expr | None, value: ast.expr | None, line: int, how: str = "variable"
    ) -> None:
        name = self._names.text(key)
        if isinstance(name, bytes):
            name = name.decode(errors="replace")
        if isinstance(name, str) and name in CHIEF:
            self._add(name, line, how, value, name)

    def _variables(self, mapping: ast.expr | None, line: int) -> None:
        for key, value in items(mapping):
            self._variable(key, value, line)

    def _call(self, node: ast.Call) -> None:
        name, line, args = self._names.dotted(node.func), node.lineno, node.args
        first, second = ([*args, None, None])[:2]
        if name in _OPTIONS:
            keyword, place = _OPTIONS[name]
            given = next((k.value for k in node.keywords if k.arg == keyword), None)
            if given is None and 0 <= place < len(args):
                given = args[place]
            for key, value in items(given):
                option = self._names.text(key)
                if isinstance(option, str):
                    option = _INDUCTOR + option.replace("-", "_")
                    self._add(_ATTRIBUTES.get(option, ""), line, "options", value)
        elif name in _FRESH:
            self._add("TORCHINDUCTOR_CACHE_DIR", line, "fresh", None)
        elif name in ("os.putenv", "os.environ.__setitem__"):
            self._variable(first, second, line)
        elif name == "os.environ.setdefault":
            self._variable(first, second, line, "variable-default")
        elif name in ("os.unsetenv", "os.environ.pop"):
            self._variable(first, None, line, "unset")
        elif name == "os.environ.update":
            self._variables(first, line)
            for keyword_given in node.keywords:
                key = ast.Constant(keyword_given.arg)
                self._variable(key, keyword_given.value, line)
        elif name.endswith("patch.dict") and self._names.dotted(first) == "os.environ":
            self._variables(second, line)
        elif name.endswith(".patch"):
            self._patch(name[: -len("patch")], node)
        elif isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(args) == 3:
            attribute = f"{self._names.dotted(first)}.{self._names.text(second)}"
            self._add(_ATTRIBUTES.get(attribute, ""), line, "assigned", args[2])

    def _patch(self, module: str, node: ast.Call) -> None:
        """``patch(name, value)``, ``patch({name: value})`` or ``patch(name=value)``."""
        given: list[tuple[ast.expr | None, ast.expr | None]] = []
        if len(node.args) >= 2:
            given.append((node.args[0], node.args[1]))
        elif node.args:
            given += items(node.args[0])
        for keyword in node.keywords:
            if keyword.arg is None:
                given += items(keyword.value)
            else:
                given.append((ast.Constant(keyword.arg), keyword.value))
        for key, value in given:
            name = _ATTRIBUTES.get(f"{module}{self._names.text(key)}", "")
            self._add(name, node.lineno, "patched", value)

    def _add(
        self, name: str, line: int, how: str, value: ast.expr | None, variable: str = ""
    ) -> None:
        if name not in BY_NAME:
            return
        late = line > self._names.torch
        one = Assigned(CHIEF[name], line, how, top=self._top, late=late, variable=variable)
        if how in ("unset", "fresh"):
            one = replace(one, computed=how == "fresh")
        else:
            text, computed = written(self._names.value(value))
            # First without its password: nobody could tell where one is in a text that was cut.
            text = text and shown(name, text)[:_MAX_TEXT]
            one = replace(one, value=text, computed=computed)
        self._found.append(one)


# The syntax of a source. Nothing here recurses: its tree may be as deep as its author likes.

#: Of these alone names are followed.
_MATTER = ("torch.", "triton.", "os.")
#: Characters of a dotted name.
_MAX_NAME = 200


@dataclass(frozen=True)
class Imported:
    """An import as it is written; level: how many dots; top: as of Assigned."""

    module: str
    level: int
    names: tuple[str, ...]
    top: bool


def walked(tree: ast.Module, main: bool) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes in the order of the source, and whether they are run whatever happens."""
    stack: list[tuple[ast.AST, bool]] = [(tree, True)]
    while stack:
        node, top = stack.pop()
        yield node, top
        below = []
        for field, value in ast.iter_fields(node):
            inner = top and _stays(node, field, main)
            children = value if isinstance(value, list) else [value]
            below += [(child, inner) for child in children if isinstance(child, ast.AST)]
        stack += reversed(below)


def _stays(node: ast.AST, field: str, main: bool) -> bool:
    """Whether a part of a statement is run whenever the statement is."""
    if isinstance(node, ast.If):
        return field == "test" or (field == "body" and main and asks_main(node.test))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return field == "decorator_list"
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return field in ("iter", "test")
    if isinstance(node, ast.Try):
        return field in ("body", "finalbody")
    return not isinstance(node, (ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler))


class Names:
    """What the names of a source stand for. torch: the first line that imports torch."""

    def __init__(self, nodes: list[tuple[ast.AST, bool]]) -> None:
        self.imports: list[Imported] = []
        self.torch = 1 << 60
        self._meant: dict[str, str] = {}
        #: How often a name is given a value, and the values of those that are given one once.
        self._given: Counter[str] = Counter()
        self._constants: dict[str, ast.expr] = {}
        for node, top in nodes:
            self._learn(node, top)
        for node, _ in nodes:
            self._learn_names(node)

    def _learn(self, node: ast.AST, top: bool) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imports.append(Imported(alias.name, 0, (), top))
                first = alias.name.partition(".")[0]
                self._meant[alias.asname or first] = alias.name if alias.asname else first
                self._note_torch(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            self.imports.append(Imported(node.module or "", node.level, names, top))
            if node.module and not node.level:
                for alias in node.names:
                    self._meant[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                self._note_torch(node.module, node.lineno)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._given[node.id] += 1

    def _note_torch(self, module: str, line: int) -> None:
        if module.partition(".")[0] == "torch":
            self.torch = min(self.torch, line)

    def _learn_names(self, node: ast.AST) -> None:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            return
        target = node.targets[0]
        if not isinstance(target, ast.Name):
            return
        if isinstance(node.value, ast.Constant):
            # Of several values nobody can say which it is that counts.
            if self._given[target.id] == 1:
                self._constants[target.id] = node.value
        elif (name := self.dotted(node.value)) and f"{name}.".startswith(_MATTER):
            self._meant.setdefault(target.id, name)

    def dotted(self, node: ast.AST | None) -> str:
        """What an expression stands for, as torch._inductor.config, or "" where it is no name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
            if len(parts) > 20:
                return ""
        if isinstance(node, ast.Call) and node.args:
            module = constant(node.args[0])
            called = getattr(node.func, "attr", None), getattr(node.func, "id", None)
            if "import_module" not in called or not isinstance(module, str):
                return ""
            parts.append(module)
        elif isinstance(node, ast.Name) and node.id in self._meant:
            parts.append(self._meant[node.id])
        else:
            return ""
        name = ".".join(reversed(parts))
        return name if len(name) <= _MAX_NAME else ""

    def text(self, node: ast.expr | None) -> object:
        """The value of an expression that is one, or the name of one; else None."""
        return constant(self.value(node))

    def value(self, node: ast.expr | None) -> ast.expr | None:
        """An expression, or what the name that it is stands for."""
        return self._constants.get(node.id) if isinstance(node, ast.Name) else node


def asks_main(test: ast.expr) -> bool:
    """Whether it is ``__name__ == "__main__"``."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    sides = (test.left, test.comparators[0])
    names = [one.id for one in sides if isinstance(one, ast.Name)]
    texts = [constant(one) for one in sides if isinstance(one, ast.Constant)]
    return isinstance(test.ops[0], ast.Eq) and names == ["__name__"] and texts == ["__main__"]


def items(mapping: ast.expr | None) -> list[tuple[ast.expr | None, ast.expr | None]]:
    """The keys and values of a dict that stands there, as ``{…}`` or ``dict(…)``."""
    if isinstance(mapping, ast.Dict):
        return list(zip(mapping.keys, mapping.values, strict=True))
    if not isinstance(mapping, ast.Call) or not isinstance(mapping.func, ast.Name):
        return []
    named = mapping.keywords if mapping.func.id == "dict" else []
    return [(ast.Constant(one.arg), one.value) for one in named]


def constant(node: ast.AST | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def written(node: ast.expr | None) -> tuple[str | None, bool]:
    """A value as a variable would have it, and whether it is one that does not stand there."""
    sign = ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = "-", node.operand
    if not isinstance(node, ast.Constant) or node.value is Ellipsis:
        return None, True
    value = node.value
    if value is None:
        return None, False
    if isinstance(value, bool):
        return ("1" if value else "0"), False
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    try:
        # What cannot be sent as a text is told as one that can.
        text = f"{sign}{value}".encode(errors="backslashreplace").decode()
    except ValueError:
        return None, True  # a number of thousands of digits
    return text, False
