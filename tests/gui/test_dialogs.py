"""Every dialog fits a small screen, shows where the keyboard is, and means the keys it names."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from PySide6.QtGui import QKeySequence

from tests.shots.run import SCENES
from torchkeeper.gui.actions import ACTIONS

#: Those with most to say; the others are looked at in the long run of the tests.
SOME = ("import", "verify")


def _looked(*scenes: str) -> tuple[dict[str, list[str]], list[str]]:
    argv = [sys.executable, "-m", "tests.gui.staged", *scenes]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found, unseen = json.loads(run.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found, unseen


def _wrong(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: faults for name, faults in found.items() if faults}


@pytest.mark.slow
def test_the_largest_dialogs_fit_and_are_used_by_the_keys() -> None:
    found, _ = _looked(*SOME)
    assert len(found) > 20
    assert _wrong(found) == {}


@pytest.mark.slow
def test_all_dialogs_fit_and_are_used_by_the_keys() -> None:
    found, unseen = _looked(*SCENES)
    assert len(found) > 90
    assert _wrong(found) == {}
    assert unseen == [], "no scene shows them"


def test_no_two_actions_of_a_menu_have_one_letter() -> None:
    for menu in dict.fromkeys(spec.menu for spec in ACTIONS):
        letters = [QKeySequence.mnemonic(spec.text).toString() for spec in ACTIONS
                   if spec.menu == menu]  # fmt: skip
        some = [letter for letter in letters if letter]
        assert sorted(some) == sorted(set(some)), menu
