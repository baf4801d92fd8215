"""An environment (what a probe found, or what a bundle says it was made in) in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words.problems import printable

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env


def tr(text: str) -> str:
    """The translation of a text about environments."""
    return QCoreApplication.translate("Environment", text)


def _text(value: object) -> str:
    return printable(str(value), 80) if isinstance(value, (str, int, float)) and value else ""


def _accelerators(told: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(name for one in told if (name := _text(one))))


def facts(env: Mapping[str, object]) -> list[tuple[str, str]]:
    """What a bundle tells of an environment, as (name, value); nothing for what is not known."""
    gpus = env.get("gpus")
    found = [
        (tr("torch"), _text(env.get("torch"))),
        (tr("Triton"), _text(env.get("triton"))),
        (tr("CUDA"), _text(env.get("cuda"))),
        (tr("ROCm"), _text(env.get("hip"))),
        (tr("GPU"), _accelerators(gpus if isinstance(gpus, list) else ())),
        (tr("CPU"), _text(env.get("cpu")) or _text(env.get("machine"))),
        (tr("Threads"), _text(env.get("threads"))),
        (tr("Python"), _text(env.get("python"))),
        (tr("System"), _text(env.get("platform"))),
    ]
    return [(name, value) for name, value in found if value]


def can_compile(env: Env) -> bool:
    """Whether there is a torch to compile with."""
    return bool(env.get("torch"))


def summary(env: Env) -> str:
    """One line for a probed interpreter."""
    if not can_compile(env):
        return tr("This interpreter has no torch. Choose another one.")
    parts = [tr("torch {}").format(_text(env.get("torch")))]
    if triton := _text(env.get("triton")):
        parts.append(tr("Triton {}").format(triton))
    others = (one for one in env.get("devices", ()) if one["type"] != "cpu")
    gpus = _accelerators(one["name"] or one["type"] for one in others)
    parts.append(gpus if gpus else tr("no GPU: compiles for the CPU"))
    return " · ".join(parts)
