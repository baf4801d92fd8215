"""What the sources of the window give Qt that it may take for HTML, and where: see
gui/widgets/plain.py, which everything of the kind goes through.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

#: Where HTML is made, of our own words with what is escaped; and where labels are made.
MAKERS = {"widgets/plain.py"}
#: What only the makers may call: a class whose texts Qt takes for HTML where they look like it, or
#: what says that a text is HTML.
_BANNED = frozenset({
    "QLabel", "QMessageBox", "QErrorMessage", "QInputDialog", "QProgressDialog", "QSplashScreen",
    "QSystemTrayIcon", "QTextEdit", "QTextBrowser", "QTextDocument", "QTextDocumentFragment",
    "QGraphicsTextItem", "QStaticText", "QWizardPage", "setHtml", "insertHtml", "appendHtml",
    "fromHtml", "setMarkdown", "insertMarkdown", "fromMarkdown", "setTextFormat",
    "setDefaultStyleSheet", "setInformativeText", "setDetailedText",
})  # fmt: skip
#: What makes a text that may be given to what takes HTML.
_DOORS = frozenset({"tip", "caption", "explained", "whats_this", "said_of", "toolTip", "whatsThis"})
_TRANSLATED = frozenset({"tr", "_tr"})
_TOLD = frozenset({"setToolTip", "setTabToolTip", "setWhatsThis", "setToolTipText"})
_ROLES = ("ToolTipRole", "WhatsThisRole")


def past_the_door(path: Path, name: str) -> list[str]:
    """What a module gives Qt past the door, each with its line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += [(node.lineno, said) for said in _of_call(node, name)]
        if isinstance(node, ast.ClassDef) and name not in MAKERS:
            bases = [_name(base) for base in node.bases]
            found += [(node.lineno, f"class of {base}") for base in bases
                      if base in _BANNED - {"QTextBrowser"}]  # fmt: skip
        if isinstance(node, (ast.Import, ast.ImportFrom)) and name not in MAKERS:
            names = [alias.name for alias in node.names]
            if "html" in names or getattr(node, "module", "") == "html":
                found.append((node.lineno, "html"))
        if isinstance(node, ast.If) and _of_role(node.test):
            found += [(value.lineno, ast.unparse(value)) for value in _returned(node)
                      if not _safe(value)]  # fmt: skip
    return [f"{name}:{line}: {said}" for line, said in sorted(found)]


def _of_call(call: ast.Call, name: str) -> Iterator[str]:
    called, args = _name(call.func), list(call.args)
    parts = {_name(part) for part in ast.walk(call.func) if isinstance(part, ast.expr)}
    if parts & _BANNED and name not in MAKERS and called != "ExtraSelection":
        yield ast.unparse(call)
    if called in _TOLD and not (args and _safe(args[-1])):
        yield ast.unparse(call)
    if called == "showText" and not (len(args) > 1 and _safe(args[1])):
        yield ast.unparse(call)
    if called in ("setData", "setItemData") and any(_of_role(arg) for arg in args):
        told = [arg for arg in args if not _of_role(arg)]
        if not told or not _safe(told[-1]):
            yield ast.unparse(call)


def _of_role(node: ast.expr) -> bool:
    return any(isinstance(x, ast.Attribute) and x.attr in _ROLES for x in ast.walk(node))


def _returned(node: ast.If) -> Iterator[ast.expr]:
    for statement in node.body:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Return) and inner.value is not None:
                yield inner.value


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _safe(node: ast.expr) -> bool:
    """Whether it is a text of our own, as it stands here, or has gone through the door."""
    if isinstance(node, ast.IfExp):
        return _safe(node.body) and _safe(node.orelse)
    if isinstance(node, ast.BoolOp):
        return all(map(_safe, node.values))
    if isinstance(node, ast.Call):
        if _name(node.func) in _TRANSLATED:
            return all(isinstance(arg, ast.Constant) for arg in node.args)
        return _name(node.func) in _DOORS
    return isinstance(node, ast.Constant)
