"""The terms that one meets in the window. Also What's This without a mouse."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QWhatsThis, QWidget

from torchkeeper.gui.widgets.plain import explained

tr = partial(QCoreApplication.translate, "Glossary")


class Term(NamedTuple):
    """What it is called, and what it means."""

    id: str
    name: str
    text: str


_N = QT_TRANSLATE_NOOP


def _n(text: str) -> str:
    return str(_N("Glossary", text))


TERMS: tuple[tuple[str, tuple[Term, ...]], ...] = (
    (_n("What there is"), (
        Term("place", _n("Place"), _n(
            "Where entries live: a cache folder, a Redis server or a bundle file. All three hold "
            "the very same payloads, so entries can be copied from any of them to any other.")),
        Term("entry", _n("Entry"), _n(
            "One thing that torch.compile has kept: a compiled graph, a kernel, a file of "
            "generated code, a choice of autotuning. It has a kind, a key and a payload. One key "
            "may have several payloads, each of which is an entry of its own.")),
        Term("payload", _n("Payload"), _n(
            "The bytes that PyTorch itself reads. Torchkeeper reads them without running them. "
            "When PyTorch loads a payload, it can run code, as any pickle can.")),
        Term("needs", _n("Needs, and needed by"), _n(
            "Entries depend on each other: an AOTAutograd entry names the FX graphs it needs, and "
            "a graph the code and the kernels that were built for it. If one of them is missing, "
            "PyTorch compiles again.")),
        Term("orphan", _n("Orphan"), _n(
            "An entry that nothing in its place needs any more, because the entry that named it is "
            "gone. It only takes room; you can purge it.")),
        Term("filter", _n("Filter"), _n(
            "Shows only some of the entries. Words look in names and keys; kind:triton, size>10M, "
            "age>30d and torch:2.9 compare fields; is:stale, is:broken and is:orphan find entries "
            "that you can remove. A minus in front of a word negates it.")),
        Term("treemap", _n("Treemap"), _n(
            "A map of sizes: each rectangle is a group of entries, and its area shows their bytes. "
            "Double-click or press Enter to look into one, Backspace to come back.")),
        Term("trash", _n("Trash"), _n(
            "A purge moves entries to the trash of their place. PyTorch does not find them there, "
            "and Undo puts them back. The space is free when you empty the trash. A server has no "
            "trash.")),
    )),
    (_n("Verdicts"), (
        Term("environment", _n("Environment"), _n(
            "A Python interpreter with its torch, and the machine under it: GPU, CPU, driver. A "
            "verdict is always about one environment, because an entry works only with what made "
            "it.")),
        Term("verdict", _n("Verdict"), _n(
            "Whether a program that runs in the chosen environment will find the entry: usable, "
            "conditional, unknown, unsafe, stale or broken, always with reasons. Torchkeeper works "
            "it out from the key factors that the entry records, and compiles or runs nothing.")),
        Term("usable", _n("Usable"), _n(
            "A program with the environment's own settings finds the entry, and "
            "compiles nothing.")),
        Term("conditional", _n("Conditional"), _n(
            "A program finds the entry if it meets a condition: the same number of threads, say, "
            "or max_autotune switched on. The inspector says which, and what the program must do. "
            "This is not a fault.")),
        Term("unknown", _n("Unknown"), _n(
            "The entry does not record enough to tell whether a program finds it. Verify measures "
            "it.")),
        Term("unsafe", _n("Unsafe"), _n(
            "PyTorch finds and loads the entry, although its code is for another machine, such as "
            "one with wider vectors: the key does not record this. It may compute wrong results, "
            "or crash the program. The entry may be good where it was made, so Torchkeeper does "
            "not suggest to remove it. Compile again into another folder.")),
        Term("stale", _n("Stale"), _n(
            "No program finds the entry in this environment: another torch, GPU or Triton made it. "
            "It may still be good elsewhere, so look at who else uses the place before you purge "
            "it.")),
        Term("broken", _n("Broken"), _n(
            "The entry is damaged, or lacks something that it needs. PyTorch skips it, and "
            "compiles again.")),
        Term("key-factor", _n("Key factor"), _n(
            "One of the hundreds of facts that PyTorch hashes into a key: the graph, the shapes of "
            "inputs, torch's version, the GPU, each setting. If one of them differs, the key "
            "differs and PyTorch does not find the entry. Compare shows which one.")),
    )),
    (_n("Filling and sharing"), (
        Term("recipe", _n("Recipe"), _n(
            "A small file that says what to compile: a function and its example inputs, a script, "
            "an eager operator, a Triton kernel. Each combination of its sizes and modes is a "
            "variant. Warm runs recipes ahead of time, so that programs start fast.")),
        Term("fleet", _n("Fleet"), _n(
            "Several machines that warm one place together. Each variant is compiled once for each "
            "kind of machine: that is a cell. What a machine compiled is gathered in the place. A "
            "cell is proven when another machine finds all of it there, and builds nothing.")),
        Term("bundle", _n("Bundle"), _n(
            "One file of entries (.torchcache) that can be sent to another machine, with a list of "
            "what is in it and who made it. It can be signed. Before one is written, it is "
            "searched for passwords and keys.")),
        Term("mega-cache", _n("Mega-cache"), _n(
            "The file that PyTorch's own save_cache_artifacts writes. It holds graphs and choices, "
            "but no built C++ objects, no torch version and no signature: on a CPU everything is "
            "built again. You can import it like a bundle.")),
        Term("signature", _n("Signature"), _n(
            "Shows who made a bundle, and that nobody changed it since. A bundle holds code that "
            "PyTorch runs: if you trust the key of its signer, you import it without a question; "
            "otherwise Torchkeeper asks first.")),
        Term("verification", _n("Verification"), _n(
            "The proof of a cache: fresh processes run a recipe with a copy of this cache alone, "
            "and PyTorch's own counters tell the hits and the rebuilt objects. Cold is the same "
            "run with an empty cache.")),
        Term("header", _n("Precompiled header"), _n(
            "On a CPU, PyTorch builds a C++ header of 149 MB once for each temporary folder, even "
            "where everything else is cached. Prepare builds it ahead of time. Portable entries "
            "need none.")),
        Term("profile", _n("Profile"), _n(
            "A named set of the settings that steer PyTorch's caches. Recipes are warmed, and "
            "programs run, with one; it can be read from a script or a manifest, and written as "
            "one.")),
    )),
)  # fmt: skip

_BY_ID = {term.id: term for _, some in TERMS for term in some}


def of(ident: str) -> Term:
    """A term, translated."""
    term = _BY_ID[ident]
    return term._replace(name=tr(term.name), text=tr(term.text))


def whats_this(*idents: str) -> str:
    return "".join(explained(term.name, term.text) for term in map(of, idents))


def explain(what: QWidget | QAction, *idents: str) -> None:
    """Have What's This of a widget or an action say what terms mean."""
    what.setWhatsThis(whats_this(*idents))


def explain_focused(window: QWidget) -> None:
    """Show what the control means that has the keyboard, or that nothing is known of it."""
    at = window.focusWidget() or window
    none = tr("This control has no explanation. Ctrl+F1 in the window opens the glossary.")
    QWhatsThis.showText(at.mapToGlobal(_under(at)), said_of(at) or explained("", none), at)


def said_of(at: QWidget | None) -> str:
    """What is said of a control: what it does, and the terms that it is about; empty for none."""
    own = _own(at) if at is not None else ""
    terms, part = "", at
    while part is not None and not terms:
        terms = _of_item(part) or part.whatsThis()
        part = None if part.isWindow() else part.parentWidget()
    return own + terms


def _own(at: QWidget) -> str:
    """Its name and what it does, as a screen reader would say it."""
    name = at.accessibleName()
    if not name and isinstance(at, QAbstractButton):
        name = at.text().replace("&", "").rstrip("…")
    does = at.accessibleDescription() or at.toolTip()
    return explained(name, does) if does and does != name else ""


def _of_item(part: QWidget) -> str:
    if not isinstance(part, QAbstractItemView):
        return ""
    index = part.currentIndex()
    return str(index.data(Qt.ItemDataRole.WhatsThisRole) or "") if index.isValid() else ""


def _under(at: QWidget) -> QPoint:
    """Where it is said: below the control, or what is current in it."""
    if isinstance(at, QAbstractItemView) and at.currentIndex().isValid():
        box = at.visualRect(at.currentIndex())
        return at.viewport().mapTo(at, box.bottomLeft() + QPoint(24, 4))
    return QPoint(0, min(at.height(), 40) + 4)
