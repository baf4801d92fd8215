"""Which version this is, and where it lies: known to all, and knowing nothing."""

from __future__ import annotations

import os

VERSION = "0.1.0"
#: The folder of the package, and the one that has to be on the path of what imports it.
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.dirname(PACKAGE)
