"""An environment (what a probe found, or what a bundle says it was made in) in words."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.link.words.problems import printable


def tr(text: str) -> str:
    """The translation of a text about environments."""
    return QCoreApplication.translate("Environment", text)


def _text(value: object) -> str:
    return printable(str(value), 80) if isinstance(value, (str, int, float)) and value else ""


def _devices(env: dict[str, Any]) -> list[dict[str, Any]]:
    devices = env.get("devices")
    return [d for d in devices if isinstance(d, dict)] if isinstance(devices, list) else []


def accelerators(env: dict[str, Any]) -> str:
    """The names of its GPUs; empty where it has none, or where a bundle tells of none."""
    told = env.get("gpus")
    names = [_text(name) for name in told if _text(name)] if isinstance(told, list) else []
    for device in _devices(env):
        if device.get("type") != "cpu":
            name = _text(device.get("name")) or _text(device.get("type"))
            if name and name not in names:
                names.append(name)
    return ", ".join(names)


def facts(env: dict[str, Any]) -> list[tuple[str, str]]:
    """What is known of an environment, as (name, value); nothing for what is not known."""
    found = [
        (tr("torch"), _text(env.get("torch"))),
        (tr("Triton"), _text(env.get("triton"))),
        (tr("CUDA"), _text(env.get("cuda"))),
        (tr("ROCm"), _text(env.get("hip"))),
        (tr("GPU"), accelerators(env)),
        (tr("CPU"), _text(env.get("cpu")) or _text(env.get("machine"))),
        (tr("Threads"), _text(env.get("threads"))),
        (tr("Python"), _text(env.get("python"))),
        (tr("System"), _text(env.get("platform"))),
    ]
    return [(name, value) for name, value in found if value]


def can_compile(env: dict[str, Any]) -> bool:
    """Whether there is a torch to compile with."""
    return bool(env.get("torch"))


def summary(env: dict[str, Any]) -> str:
    """One line for a probed interpreter."""
    if not can_compile(env):
        return tr("This interpreter has no torch. Choose another one.")
    parts = [tr("torch {}").format(_text(env.get("torch")))]
    if triton := _text(env.get("triton")):
        parts.append(tr("Triton {}").format(triton))
    gpus = accelerators(env)
    parts.append(gpus if gpus else tr("no GPU: compiles for the CPU"))
    return " · ".join(parts)
