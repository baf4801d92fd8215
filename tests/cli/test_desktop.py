"""The app in the menus of the desktop, checked with the desktop's own tools."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from torchkeeper.client.desktop import placing
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.desktop.front import draw

ENTRY = "applications/torchkeeper.desktop"
#: As a session of no desktop in particular has it.
BARE = {"XDG_CURRENT_DESKTOP": "", "DESKTOP_SESSION": "", "XDG_DATA_DIRS": "/usr/share"}


def tool(*command: object, **env: str) -> str:
    """What one of the desktop's tools says; packaging/setup.sh installs them for tests."""
    assert shutil.which(str(command[0])), f"{command[0]} is missing: run packaging/test"
    ran = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **BARE, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shared data of this test only."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_stock_validators_find_nothing_to_say(tk: Tk, data: Path) -> None:
    told = tk("install-desktop", "--json").result
    assert set(told["ran"]) >= {"update-mime-database", "update-desktop-database"}
    assert told["left"] == told["failed"] == {}
    assert tool("desktop-file-validate", data / ENTRY) == ""
    tool("appstreamcli", "validate", "--no-net", data / "metainfo/torchkeeper.metainfo.xml")
    for icon in data.glob("icons/hicolor/*x*/*/*.png"):
        side = int(icon.parts[-3].partition("x")[0])
        head = icon.read_bytes()[:24]
        assert head[12:16] == b"IHDR"
        assert (int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")) == (
            side, side,
        )  # fmt: skip
    assert len(list(data.glob("icons/hicolor/*x*/*/*.png"))) == 2 * len(placing.SIDES)


def test_the_desktop_knows_bundles_and_what_opens_them(
    tk: Tk, data: Path, clean_291: Path, tmp_path: Path
) -> None:
    assert tk("install-desktop").code == 0
    bundle = tmp_path / "x.torchcache"
    with Engine() as engine:
        engine.call("export", {"place": str(clean_291), "output": str(bundle)})
    nameless = Path(shutil.copy(bundle, tmp_path / "nameless"))
    for file in (bundle, nameless):
        said = tool("gio", "info", "-a", "standard::content-type", file)
        assert f"standard::content-type: {placing.TYPE}" in said, file
    # As on a desktop: on none it asks “file”, which knows nothing of what is installed.
    gnome = {"XDG_CURRENT_DESKTOP": "GNOME"}
    assert tool("xdg-mime", "query", "filetype", bundle, **gnome) == placing.TYPE
    assert tool("xdg-mime", "query", "default", placing.TYPE) == "torchkeeper.desktop"
    assert "torchkeeper.desktop" in tool("gio", "mime", placing.TYPE)


def test_what_it_starts_is_this_very_app(tk: Tk, data: Path) -> None:
    told = tk("install-desktop", "--json").result
    parsed = configparser.RawConfigParser()
    parsed.read(data / ENTRY, encoding="utf-8")
    *command, fields = shlex.split(parsed["Desktop Entry"]["Exec"])
    assert fields == "%F"
    assert command == told["command"]
    assert parsed["Desktop Entry"]["TryExec"] == command[0]
    assert os.path.dirname(command[0]) == os.path.dirname(sys.executable)
    ran = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("torchkeeper ")


@pytest.mark.parametrize("name", ["with blanks", "100%F", 'q"uo`te$s\\', "a'b", "ä=ö;ü", "50%=x"])
def test_a_path_is_quoted_so_that_the_desktop_starts_it(tmp_path: Path, name: str) -> None:
    """Started by GLib, which reads the entry as desktops do."""
    program = tmp_path / name / "torchkeeper"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" > "{tmp_path}/got.part"\n'
                       f'mv "{tmp_path}/got.part" "{tmp_path}/got"\n')  # fmt: skip
    program.chmod(0o755)
    made = placing.made([str(program)], None)
    file = tmp_path / "torchkeeper.desktop"
    file.write_bytes(made[ENTRY])
    assert tool("desktop-file-validate", file) == ""
    tool("gio", "launch", file, tmp_path / "a 1%.torchcache")
    got = tmp_path / "got"
    for _ in range(600):
        if got.exists():
            break
        subprocess.run(["sleep", "0.05"], check=True)
    assert got.read_text().splitlines() == [str(program), str(tmp_path / "a 1%.torchcache")]


def test_no_entry_is_made_for_what_none_can_hold() -> None:
    with pytest.raises(UserError, match="No desktop entry"):
        placing.filled("Exec=@program@", ["/a\nb/torchkeeper"])


def test_what_was_written_is_removed_and_nothing_else(tk: Tk, data: Path) -> None:
    data.mkdir()
    (data / "applications").mkdir()
    (data / "applications/other.desktop").write_text("[Desktop Entry]\n")
    dry = tk("install-desktop", "--dry-run", "--json").result
    before = sorted(data.rglob("*"))
    first = tk("install-desktop", "--json").result
    assert first["written"] == dry["written"] and len(first["written"]) > 20
    assert stat.S_IMODE((data / ENTRY).stat().st_mode) == 0o644
    again = tk("install-desktop", "--json").result
    assert (again["written"], sorted(again["unchanged"])) == ([], sorted(first["written"]))
    removed = tk("install-desktop", "--remove", "--json").result
    assert sorted(removed["removed"]) == sorted(first["written"])
    (data / "applications/mimeinfo.cache").unlink()  # of a folder that others use
    assert sorted(data.rglob("*")) == before
    assert tk("install-desktop", "--remove").out == f"Nothing of Torchkeeper's is in {data}.\n"


def test_what_others_wrote_or_changed_is_left(tk: Tk, data: Path) -> None:
    (data / "metainfo").mkdir(parents=True)
    other = data / "metainfo/torchkeeper.metainfo.xml"
    other.write_text("<component/>")
    ran = tk("install-desktop")
    assert ran.code == 4
    assert f"left: {other}: somebody else wrote it." in ran.out
    changed = data / ENTRY
    changed.write_text(changed.read_text() + "X-Mine=1\n")
    again = tk("install-desktop", "--json")
    assert (again.code, set(again.result["left"])) == (
        4, {ENTRY, "metainfo/torchkeeper.metainfo.xml"},
    )  # fmt: skip
    removed = tk("install-desktop", "--remove", "--json")
    assert removed.result["left"] == {ENTRY: "it was changed since"}
    assert other.read_text() == "<component/>" and changed.exists()


def test_another_version_replaces_what_the_last_one_wrote(tmp_path: Path) -> None:
    root = str(tmp_path / "share")
    placing.install(root, {"applications/a.desktop": b"1", "applications/b.desktop": b"1"})
    placed = placing.install(root, {"applications/a.desktop": b"2"})
    assert (placed.written, placed.removed) == (
        ["applications/a.desktop"], ["applications/b.desktop"],
    )  # fmt: skip
    assert placing.remove(root).removed == ["applications/a.desktop"]
    assert os.listdir(root) == []


@pytest.mark.parametrize(
    "receipt",
    ["{", "[]", '{"version": 1, "files": {"../../.bashrc": ""}, "folders": []}',
     '{"version": 1, "files": {}, "folders": ["applications/.."]}',
     '{"version": 1, "files": {"applications/x": 1}, "folders": []}',
     '{"version": 2, "files": {}, "folders": []}'],
)  # fmt: skip
def test_a_receipt_that_somebody_wrote_removes_nothing(tmp_path: Path, receipt: str) -> None:
    (tmp_path / "torchkeeper").mkdir()
    (tmp_path / placing.RECEIPT).write_text(receipt)
    with pytest.raises(UserError, match="makes no sense"):
        placing.remove(str(tmp_path))


def test_a_prefix_that_desktops_do_not_look_into_is_said(tk: Tk, data: Path) -> None:
    ran = tk("install-desktop", "--prefix", data / "opt")
    assert "XDG_DATA_DIRS" in ran.out and (data / "opt/share" / ENTRY).exists()
    denied = tk("install-desktop", "--prefix", "/proc/nowhere")
    assert denied.code == 1 and "cannot be written" in denied.err


def test_every_user_can_read_what_is_for_all(tk: Tk, data: Path) -> None:
    """Under a umask that lets nobody else read: what the desktop's own programs write, too."""
    before = os.umask(0o077)
    try:
        assert tk("install-desktop", "--prefix", data).code == 0
        assert tk("install-desktop").code == 0
    finally:
        os.umask(before)
    receipt = data / "share" / placing.RECEIPT
    made = [path for path in (data / "share").rglob("*") if path != receipt]
    assert {path.name for path in made} >= {"torchkeeper.desktop", "mime.cache", "mimeinfo.cache"}
    for path in (data / "share", *made):
        wanted = 0o755 if path.is_dir() else 0o644
        assert stat.S_IMODE(path.stat().st_mode) & wanted == wanted, path
    assert stat.S_IMODE((data / "applications").stat().st_mode) == 0o700, "one's own stays so"


def test_the_pictures_are_drawn_to_the_edge_without_a_display() -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>'
    assert draw(svg, 16)[:8] == b"\x89PNG\r\n\x1a\n"


def test_tools_that_are_not_there_or_fail_are_named(
    tk: Tk, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    without = tk("install-desktop")
    assert without.code == 0 and "not installed: update-mime-database" in without.out
    broken = tools / "update-desktop-database"
    broken.write_text("#!/bin/sh\necho 'it is broken' >&2\nexit 3\n")
    broken.chmod(0o755)
    (data / ENTRY).unlink()
    ran = tk("install-desktop", "--json")
    assert (ran.code, ran.result["failed"]) == (4, {"update-desktop-database": "it is broken"})
    assert ran.result["written"] == [ENTRY]
