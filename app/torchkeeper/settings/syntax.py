"""The syntax of a source: what is in it, in order, and what its names stand for. Nothing is run.

Nothing here recurses: the tree of a source may be as deep as its author likes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

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
    """What the names of a source stand for: modules, functions and objects of torch, Triton and
    Python, and constants. imports: what it imports; torch: the first line that imports torch.
    """

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
            called = node.func
            by_name = (isinstance(called, ast.Attribute) and called.attr == "import_module") or (
                isinstance(called, ast.Name) and called.id == "import_module"
            )
            if not by_name or not isinstance(module, str):
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
