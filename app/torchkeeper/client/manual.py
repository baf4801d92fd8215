"""The manual: its pages and pictures in the resources, and the documents that its pages lead to.

A page is known by its path in the source tree, which links are relative to, and by its topic, the
name of its file. In an installation the documents lie where those of other programs do.
"""

from __future__ import annotations

import importlib
import os
import posixpath
import re
import site
import sys
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from torchkeeper.client.words.problems import user_error

#: The folder of the pages in the source tree.
_PAGES = "resources/manual"
INDEX = f"{_PAGES}/index.md"
#: What lies at the root of the source tree; ``[tool.setuptools.data-files]`` installs the same.
DOCUMENTS = ("SECURITY.md", "CHANGELOG.md", "README.md", "CONTRIBUTING.md")
#: Where an installation has them, below its prefix.
_INSTALLED = "share/doc/torchkeeper"
#: The address of the web, or another one with a scheme.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
#: Where the index says what a page is about, in a table or a list.
_ABOUT = re.compile(r"\[[^\]]+\]\(([\w-]+\.md)\)[\s:|]*(.*?)[\s|]*$", re.MULTILINE)
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
#: Lines that only ``tests/manual.py`` reads.
_MARKS = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(?:```.*?^```|#+ (.+?))\s*$", re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """A page. path: in the source tree. about: what it is about, in a line; may be empty. text:
    Markdown, without comments.
    """

    topic: str
    path: str
    title: str
    about: str
    text: str


class Manual(NamedTuple):
    """Pages by their paths, in the order of the index; pictures that they show by theirs."""

    pages: dict[str, Page]
    pictures: dict[str, bytes]

    def topics(self) -> dict[str, Page]:
        """The pages by their topics; one of the manual goes before a document."""
        found: dict[str, Page] = {}
        for page in self.pages.values():
            found.setdefault(page.topic, page)
        return found

    def having(self, words: Iterable[str]) -> list[Page]:
        """The pages that have all of these words, in any case."""
        sought = [word.casefold() for word in words]
        texts = [(page, page.text.casefold()) for page in self.pages.values()]
        return [page for page, text in texts if all(word in text for word in sought)]


def read() -> Manual:
    """All of the manual. Raises UserError where it cannot be read. Waits for a disk."""
    folder = os.path.join(importlib.import_module("torchkeeper.resources").__path__[0], "manual")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
        texts = {f"{_PAGES}/{name}": _text(os.path.join(folder, name)) for name in names}
    except OSError as e:
        why = e.strerror or str(e)
        raise user_error("manual-unreadable", {"folder": folder, "why": why}) from e
    index = texts.get(INDEX, "")
    about = {f"{_PAGES}/{name}": said for name, said in _ABOUT.findall(index)}
    order = [INDEX, *about, *texts]
    pages = {path: _page(path, texts[path], about.get(path, "")) for path in order if path in texts}
    for name in DOCUMENTS:
        if (text := _document(os.path.dirname(folder), name)) is not None:
            pages[name] = _page(name, text, "")
    return Manual(pages, dict(_pictures(folder, pages.values())))


def lead(path: str, target: str) -> tuple[str, str] | None:
    """The path in the source tree, and the heading there, that a link of a page leads to; None for
    an address of the web.
    """
    if _ADDRESS.match(target):
        return None
    file, _, heading = target.partition("#")
    if not file:
        return path, heading
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), file)), heading


def anchors(headings: Iterable[str]) -> list[str]:
    """What links call these headings of a page, as GitHub does."""
    found: list[str] = []
    seen = Counter[str]()
    for heading in headings:
        words = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(f"{words}-{seen[words]}" if seen[words] else words)
        seen[words] += 1
    return found


def headings(text: str) -> list[str]:
    """The headings of a page; what is in blocks of code is none."""
    return [found[1] for found in _HEADING.finditer(text) if found[1]]


def _page(path: str, text: str, about: str) -> Page:
    topic = posixpath.basename(path).removesuffix(".md").lower()
    return Page(topic, path, next(iter(headings(text)), topic), about, _MARKS.sub("", text))


def _document(resources: str, name: str) -> str | None:
    """The text of a document: beside the resources in a clone, or where it was installed."""
    prefixes = (sys.prefix, site.getuserbase())
    for folder in (os.path.dirname(resources), *(os.path.join(x, _INSTALLED) for x in prefixes)):
        try:
            return _text(os.path.join(folder, name))
        except OSError:
            continue
    return None


def _pictures(folder: str, pages: Iterable[Page]) -> Iterable[tuple[str, bytes]]:
    """The pictures that the pages show, of those that lie in the folder of the manual."""
    for page in pages:
        for target in _PICTURE.findall(page.text):
            led = lead(page.path, target)
            if led is not None and posixpath.dirname(led[0]) == _PAGES:
                try:
                    with open(os.path.join(folder, posixpath.basename(led[0])), "rb") as file:
                        yield led[0], file.read()
                except OSError:
                    continue


def _text(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()
