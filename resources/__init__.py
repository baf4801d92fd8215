"""Data files of the app: icons, and example recipes. Read with ``importlib.resources``."""
