"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from typing import Any

import pytest

from torchkeeper.artifacts.patterns import regex


def test_is_compiled_once_and_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    real = re.compile

    def counted(pattern: Any, flags: int = 0) -> Any:
        compiled.append(pattern)
        return real(pattern, flags)

    monkeypatch.setattr(re, "compile", counted)
    form = regex("a(b+)", re.IGNORECASE)
    assert (form.pattern, compiled) == ("a(b+)", [])
    for _ in range(2):
        match = form.fullmatch("ABB")
        assert match is not None
        assert match[1] == "BB"
    assert compiled == ["a(b+)"]
