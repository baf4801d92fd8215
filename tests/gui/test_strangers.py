"""What a cache, a server, a path or a recipe says is drawn as the text that it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtGui import Qt as Gui
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.gui import strangers
from tests.gui.test_every_page import DAILY, SIDE, dialogs
from tests.pace import within
from tests.shots.run import SCENES
from torchkeeper.cli import output
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.widgets import forms, plain

NAMES = [
    '<img src="/dev/zero">', "<a href='file:///etc/passwd'>here</a>", "a &lt;b&gt; c", "&amp;",
    "<b>", "</p><b>", "<?xml version='1.0'?><qt>", "<!DOCTYPE html><p>", "  \n\n<h1>large",
    "<style>*{font-size:900px}</style>", "L" * 100_000, "<b>" * 30_000, "one\ntwo\r\nthree",
    "\u202eevil\u2066", "a\u200bb\u2028c", "\x00\x1b[31mred", "\udcff.torchcache", "%1 {0} [*] &x",
    "\u2060<\u2060b>", "<\u2060b><i>", "&\u2060lt;<u>",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_the_door_makes_plain_text_with_a_bound(qtbot: QtBot, name: str) -> None:
    for made in (plain.tip(name), plain.tip(plain.tip(name)), plain.tip(f"Of {name}")):
        assert strangers.tipped(made) == ""
        assert len(made) < 3000 and max(map(len, made.split("\n"))) <= 300
    assert strangers.keyed(plain.caption(name)) == ""
    assert QKeySequence.mnemonic(plain.caption(name)).toString() == ""
    assert strangers.told(plain.explained(name[:500], name[:500])) in ("", *_unseen(name))
    for label in (forms.label(name), forms.label("", wrap=True)):
        qtbot.addWidget(label)
        label.setText(name)
        assert label.textFormat() is Gui.TextFormat.PlainText
        assert strangers.plain(label.text()) == ""
    button = QPushButton(plain.caption(name))
    qtbot.addWidget(button)
    assert button.shortcut().isEmpty()
    window = QWidget()
    qtbot.addWidget(window)
    window.setWindowTitle(plain.window_title(name))
    assert len(window.windowTitle()) < 1500 and window.windowTitle().count("[*]") % 2 == 0


def _unseen(name: str) -> Sequence[str]:
    # What's This is of our own words; what cannot be seen is taken out before.
    return [wrong] if (wrong := strangers.plain(name[:500])) else []


def test_what_is_harmless_stays_as_it_is() -> None:
    for text in ("/home/ada/a & b <3", "mm, addmm\n\n1,204 entries", "x < y > z", "größer – 2×"):
        assert plain.tip(text) == text == plain.shown(text)
    assert plain.tip("<b>").replace("\u2060", "") == "<b>"
    assert plain.caption("a & b") == "a && b"
    long = plain.tip("word " * 100)
    assert max(map(len, long.split("\n"))) <= 120
    assert long.replace("\n", " ") == ("word " * 100).strip()


def _walk(tone: Theme, scenes: Sequence[str] = ()) -> subprocess.Popen[str]:
    argv = [sys.executable, "-X", "faulthandler", "-m", "tests.gui.strangers", tone.value, *scenes]
    return subprocess.Popen(argv, stdout=PIPE, stderr=PIPE, text=True, encoding="utf-8")


def _told(walk: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = walk.communicate()
    assert walk.returncode == 0, errors[-4000:]
    said: dict[str, Any] = json.loads(out.splitlines()[-1])
    return said


@pytest.mark.parametrize("tone", [Theme.LIGHT, pytest.param(Theme.DARK, marks=pytest.mark.slow)])
def test_no_page_draws_a_hostile_name(tone: Theme) -> None:
    said = _told(_walk(tone))
    assert said["faults"] == {}
    # That the names are there is what makes it a test.
    for where in ("EntryTable", "PlaceList", "FactsView", "PartList", "Wrapped"):
        assert f"Window {where}" in said["marked"]


#: A dialog or two of each kind that shows names; all are looked at where there is time.
SOME = ("confirm", "import", "copy", "signers")


@pytest.mark.parametrize(
    ("tone", "scenes"),
    [
        pytest.param(Theme.DARK, [name for name in SOME if name in SCENES]),
        # A minute of the processor each.
        pytest.param(Theme.LIGHT, DAILY, marks=pytest.mark.slow),
        pytest.param(Theme.DARK, DAILY, marks=pytest.mark.slow),
    ],
)
def test_no_dialog_draws_a_hostile_name(tone: Theme, scenes: Sequence[str]) -> None:
    walks = [_walk(tone, some) for n in range(SIDE) if (some := scenes[n::SIDE])]
    said = [_told(walk) for walk in walks]
    assert {name: wrong for one in said for name, wrong in one["faults"].items()} == {}
    marked = {name.partition(" ")[0] for one in said for name in one["marked"]}
    assert len(marked) >= len(scenes) // 8 + 1, marked
    if scenes is DAILY:
        assert dialogs() - {name for one in said for name in one["dialogs"]} == set()


@pytest.fixture
def hostile_places(fixture_cache: Path, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A cache folder and a bundle of it whose kernels have such names; and a pipe that one is
    named after, which nobody writes to: who opens it never goes on.
    """
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    names = [f'<img src="{pipe}">', '<img src="/dev/zero">', f"<img src='file://{pipe}'><b>x",
             *NAMES[1:]]  # fmt: skip
    for number, name in enumerate(names):
        folder = fixture_cache / "triton" / "0" / f"{number:02d}".rjust(52, "A").replace("0", "B")
        folder.mkdir(parents=True)
        meta = {"name": name[:2000], "target": {"backend": "cuda", "arch": 90, "warp_size": 32}}
        (folder / "k.json").write_text(json.dumps(meta), encoding="utf-8")
        (folder / "k.cubin").write_bytes(name.encode("utf-8", "replace")[:100])
        paths = {one: str(folder / one) for one in ("k.json", "k.cubin")}
        group = json.dumps({"child_paths": paths})
        (folder / "__grp__k.json").write_text(group, encoding="utf-8")
    bundle = tmp_path / "<b>&amp;\u202e\x1b[31m.torchcache"
    argv = [sys.executable, "-m", "torchkeeper", "export", str(fixture_cache), "-o", str(bundle)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return fixture_cache, bundle, pipe


@pytest.mark.slow
def test_where_the_pointer_rests_no_file_is_opened(
    hostile_places: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    folder, bundle, pipe = hostile_places
    private = tmp_path / "private"
    private.mkdir()
    argv = [sys.executable, "-X", "faulthandler", "-m", "tests.gui.hovering"]
    argv += [str(private), str(folder), str(bundle)]
    run = subprocess.run(argv, capture_output=True, text=True, check=False,
                         encoding="utf-8", timeout=400)  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    said = json.loads(run.stdout.splitlines()[-1])
    assert said["faults"] == []
    named = [tip for tip in said["tips"] if str(pipe) in tip]
    assert len(named) >= 4, "both names, in both places"
    assert all(not Gui.mightBeRichText(tip) for tip in said["tips"])
    assert said["peak"] < 400_000, "kB"
    assert said["longest"] < within(0.05), "seconds of the processor"


@pytest.mark.slow
def test_no_terminal_obeys_a_name(hostile_places: tuple[Path, Path, Path], tmp_path: Path) -> None:
    folder, bundle, _ = hostile_places
    none = tmp_path / "none\x1b]0;title\x07\u202e"
    for argv in (
        ["ls", folder], ["ls", bundle, "--filter", "kind:triton"], ["du", bundle],
        ["inspect", bundle], ["ls", none],
        ["import", bundle, "--into", none, "--dry-run"],
        ["purge", folder, "--dry-run", "--filter", "kind:triton"],
    ):  # fmt: skip
        command = [sys.executable, "-m", "torchkeeper", *map(str, argv)]
        done = subprocess.run(command, capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode("utf-8")
        assert len(said) > 20, argv
        assert {c for c in said if not c.isprintable() and c != "\n"} == set(), argv


def test_what_a_terminal_would_obey_is_made_visible(capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        output.line(name)
        output.note(name)
        output.lines([name, name])
        output.table(["A", "B"], [[name, name]], frozenset())
        output.complain(UserError(name, name, name))
        output.complain(user_error("of-tomorrow", {"name": name}))
        said = capsys.readouterr()
        for text in (said.out, said.err):
            assert text
            assert {c for c in text if not c.isprintable() and c != "\n"} == set()
    output.complain(UserError("one\ntwo"))
    assert capsys.readouterr().err == "torchkeeper: one\\ntwo\n"
    output.line("one\ntwo, größer")
    assert capsys.readouterr().out == "one\ntwo, größer\n"
