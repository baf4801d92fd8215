"""The language of the window: that of the session, where there is a translation into it."""

from __future__ import annotations

from importlib.resources import as_file, files

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from torchkeeper.client.words import tongue

#: Translations are files of this name and the language, made by packaging/translations.
NAME = "torchkeeper"


def install(app: QCoreApplication, locale: QLocale | None = None, folder: str = "") -> bool:
    """Have everything translated, by a ``folder`` or our resources; whether it can be."""
    locale = locale or QLocale()
    own = QTranslator(app)
    if folder:
        found = own.load(locale, NAME, "_", folder)
    else:
        with as_file(files("torchkeeper.resources") / "translations") as ours:
            found = own.load(locale, NAME, "_", str(ours))
    if not found:
        return False
    qt = QTranslator(app)
    if qt.load(locale, "qtbase", "_", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
        app.installTranslator(qt)
    app.installTranslator(own)
    tongue.use(_of_link)
    return True


def _of_link(text: str, number: int) -> str:
    counted = "counted" if number >= 0 else None  # as packaging/translations calls it
    return QCoreApplication.translate(tongue.CONTEXT, text, counted, number)
