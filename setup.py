"""The README as a package index shows it; everything else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup


def described() -> str:
    """The README without its pictures and links to files: an index has none of those."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    pictures = re.compile(r"^!\[[^\]]*\]\((?!\w+://)[^)]*\)\n\n?", re.MULTILINE)
    return re.sub(r"\[([^\]]+)\]\((?!\w+://|#)[^)]*\)", r"\1", pictures.sub("", text))


setup(long_description=described(), long_description_content_type="text/markdown")
