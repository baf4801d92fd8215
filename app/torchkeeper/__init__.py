"""Torchkeeper: see, warm, bundle and purge ``torch.compile`` caches.

Nothing is imported here: this file travels into foreign interpreters with the packages from
``artifacts`` to ``engine``.
"""

__version__ = "0.1.0"
