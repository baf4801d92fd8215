"""Torchkeeper: see, warm, bundle and purge ``torch.compile`` caches.

For scripts: ``torchkeeper.open(place)`` opens a cache folder, a bundle or a server; ``places()``
says which there are. Both, and what they return, keep to semantic versioning, as nothing else in
the package does. resources/manual/python.md has examples.

Nothing is imported here before one of the names is asked for: this file travels into foreign
interpreters with the packages from ``artifacts`` to ``engine``, and every command begins with it.
"""

from torchkeeper.artifacts.version import VERSION as __version__  # noqa: N811 - the usual name

__all__ = [
    "Cell", "Entries", "Entry", "Error", "Exported", "Place", "Placed", "Plan", "Progress",
    "Receipt", "Variant", "Warmed", "WarmedFleet", "__version__", "import_each", "open", "places",
    "warm_fleet",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchkeeper.api.fleet import Cell, WarmedFleet, warm_fleet
    from torchkeeper.api.place import Place, Plan, Receipt, import_each, open, places
    from torchkeeper.api.told import (
        Entries,
        Entry,
        Error,
        Exported,
        Placed,
        Progress,
        Variant,
        Warmed,
    )
else:

    def __getattr__(name):
        if name in __all__:
            import importlib

            for module in ("place", "told", "fleet"):
                found = vars(importlib.import_module(f"torchkeeper.api.{module}")).get(name)
                if found is not None:
                    globals()[name] = found
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
