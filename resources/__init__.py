"""Data files of the app: icons. Read with ``importlib.resources``."""
