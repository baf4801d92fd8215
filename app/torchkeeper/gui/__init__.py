"""The window: the only package that imports PySide6."""

#: The application's name for Qt, and the setting that says what was shown last.
NAME = "torchkeeper"
CURRENT = "places/current"
