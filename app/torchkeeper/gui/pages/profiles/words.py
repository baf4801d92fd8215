"""What the form says of settings and of what is found, in more than one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import findingwords, say
from torchkeeper.client.words.problems import printable
from torchkeeper.settings import masks
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import Setting, default, there, value

_tr = partial(QCoreApplication.translate, "Profiles")

#: The icon of a severity, and the colour of a theme that it has (theme.Shades).
MARKS = {
    "error": ("error", "warning"),
    "warning": ("warning", "warning"),
    "advice": ("info", "muted"),
}


def group(name: str) -> str:
    """The heading of a group of settings (settings.known.GROUPS)."""
    return {
        "everyday": _tr("Everyday"),
        "local": _tr("More on this machine"),
        "folders": _tr("More folders"),
        "remote": _tr("More on a server"),
        "server": _tr("The server in parts"),
        "profiles": _tr("Learned from runs (PGO)"),
        "keys": _tr("Keys of entries"),
        "triton": _tr("Triton"),
    }.get(name, name.capitalize())


def owner(setting: Setting) -> str:
    """Whose default it is that a setting has."""
    return _tr("Triton's own") if setting.name.startswith("TRITON") else _tr("PyTorch's own")


def meant(setting: Setting, text: str | None, version: str | None) -> str:
    """What the text of a variable comes to, for a switch; the text itself, for all else."""
    if setting.type not in ("switch", "tristate"):
        return shown(setting.name, text or "", 400)
    try:
        on = value(setting, text, version)
    except ValueError:
        on = None
    return _tr("on") if on is True else _tr("off")


def absent(setting: Setting, version: str | None) -> str:
    """That a version does not know a setting; "" where it does."""
    if there(setting, version):
        return ""
    whose = "Triton" if setting.name.startswith("TRITON") else "torch"
    return _tr("{} has no such setting").format(f"{whose} {printable(version or '', 40)}".strip())


def own(setting: Setting, version: str | None) -> str:
    """What a setting is that is left to PyTorch."""
    if not there(setting, version):
        return owner(setting)
    text = default(setting, version)
    if text in (None, "") and setting.type not in ("switch", "tristate"):
        return owner(setting)
    return f"{owner(setting)} ({meant(setting, text, version)})"


def shown(name: str, text: str, most: int = 200) -> str:
    """The text of a variable as everybody may read it."""
    return printable(masks.shown(name, text), most)


def change(changes: Mapping[str, str | None]) -> str:
    """What a fix sets, a line each."""
    gone = _tr("{} is no longer set")
    return "\n".join(
        gone.format(printable(name)) if text is None else f"{printable(name)}={shown(name, text)}"
        for name, text in changes.items()
    )


def formats() -> list[tuple[str, str]]:
    """The formats of profiles (client.profiles.formats): what each is called, and its name."""
    return [
        (_tr("Script of exports (sh)"), "sh"),
        (_tr(".env file"), "env"),
        (_tr("Dockerfile ENV"), "dockerfile"),
        (_tr("Kubernetes env (YAML)"), "kubernetes"),
    ]


def counted(found: Iterable[Finding]) -> str:
    """How many there are of each severity, the worst first; empty where there are none."""
    return say.together(findingwords.counted(found))
