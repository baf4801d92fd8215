"""The first words that somebody types: a command, a slip of the pen, a path, or nothing at all."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import torchkeeper
from tests.cli.conftest import Tk
from tests.pace import LONG
from torchkeeper.cli import main
from torchkeeper.cli.commands import COMMANDS
from torchkeeper.client.desktop import display
from torchkeeper.client.engines import process
from torchkeeper.client.words.problems import UserError

#: No screen at all, and no word of Qt's own about which one to take.
NOWHERE = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}


def test_help_is_what_the_option_says(tk: Tk) -> None:
    assert tk("help").out == tk("--help").out
    for words in (["ls"], ["recipe", "check"], ["help"]):
        said = tk("help", *words)
        assert (said.code, said.out) == (0, tk(*words, "--help").out)
        assert said.out.startswith(f"usage: torchkeeper {' '.join(words)} ")


def test_the_version_is_told_without_loading_what_commands_need(tk: Tk) -> None:
    """Installers and prompts ask for it: most of the time that it takes is Python's own."""
    ask = """if True:
        import sys
        from torchkeeper import __main__
        python = set(sys.modules)
        sys.argv[1:] = ["--version"]
        assert __main__.main() == 0
        print(*set(sys.modules) - python)
    """
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=LONG
    )
    version, loaded = done.stdout.splitlines()
    assert version == f"torchkeeper {torchkeeper.__version__}"
    assert loaded == ""
    assert tk("--version", "ls").out == f"{version}\n", "with other words, too"


def test_what_every_command_begins_with_is_little() -> None:
    ask = """if True:
        import sys
        from torchkeeper.cli import main
        print(*sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=LONG
    )
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.startswith("torchkeeper.")}
    assert {name for name in ours if name.startswith("torchkeeper.client.engines")} == set()
    assert not {"torchkeeper.stores", "torchkeeper.engine", "torchkeeper.gui"} & ours
    assert not {"difflib", "tempfile", "subprocess", "dataclasses", "textwrap"} & loaded


def test_help_with_what_is_no_command_guesses(tk: Tk) -> None:
    ran = tk("help", "overveiw")
    assert (ran.code, ran.out) == (2, "")
    assert "Did you mean “overview”?" in ran.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["lss", "/tmp"], "“ls”"),
        (["exprot"], "“export”"),
        (["config", "shwo"], "“show”"),
        (["ls", "/tmp", "--jsn"], "“--json”"),
        (["ls", "--jsn"], "“--json”"),
        (["--versoin"], "“--version”"),
        (["import", "x.torchcache", "--into", "c", "--yes"], "“--trust”"),
    ],
)
def test_a_slip_of_the_pen_is_guessed(tk: Tk, words: list[str], meant: str) -> None:
    ran = tk(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"Did you mean {meant}" in ran.err


@pytest.mark.parametrize(
    ("word", "command"),
    [
        *[(word, "purge") for word in ("remove", "rm", "clean", "gc")],
        ("list", "ls"),
        ("restore", "undo"),
        ("manual", "help topics"),
    ],
)
def test_a_word_of_other_programs_has_its_command_here(tk: Tk, word: str, command: str) -> None:
    assert f"Did you mean “{command}”?" in tk(word).err
    assert f"Did you mean “{command}”?" in tk("help", word).err


def test_a_word_may_stand_for_two(tk: Tk) -> None:
    assert "Did you mean “du” or “overview”?" in tk("stats").err


def test_what_looks_like_nothing_is_not_guessed(tk: Tk) -> None:
    for words in (["qqqqqq"], ["ls", "/tmp", "--qqqqqq"]):
        ran = tk(*words)
        assert ran.code == 2
        assert "Did you mean" not in ran.err


@pytest.mark.parametrize("name", ["purgee", "caches", "report.txt"])
def test_a_bare_word_that_is_there_opens_no_window(
    tk: Tk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if "." in name:
        Path(name).touch()
    else:
        Path(name).mkdir()
    ran = tk(name, **NOWHERE)
    assert (ran.code, ran.out) == (2, "")
    assert f"There is no command “{name}”." in ran.err
    assert f"“torchkeeper ./{name}” opens it" in ran.err


def test_help_is_a_command_where_a_folder_has_that_name(
    tk: Tk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in COMMANDS:
        Path(name).mkdir()
    ran = tk("help")
    assert (ran.code, ran.out) == (0, tk("--help").out)


@pytest.mark.parametrize("word", ["./cache", ".", "b.torchcache", "cache/"])
def test_paths_and_bundles_open_the_window(
    tk: Tk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cache").mkdir()
    Path("b.torchcache").touch()
    ran = tk(word, **NOWHERE)
    assert (ran.code, ran.out) == (3, "")
    assert "There is no display" in ran.err, "it has got as far as that"


def test_a_path_that_is_not_there_is_no_command(tk: Tk) -> None:
    ran = tk("./nowhere", **NOWHERE)
    assert (ran.code, ran.out) == (2, "")
    assert "There is no file ./nowhere" in ran.err


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"DISPLAY": ":97"}, "The display :97 does not answer"),
        ({"WAYLAND_DISPLAY": "wayland-97"}, "The display wayland-97 does not answer"),
        ({"QT_QPA_PLATFORM": "nonsense"}, "Qt has no platform nonsense"),
    ],
)
def test_a_display_that_is_none_is_named_and_what_can_be_done(
    tk: Tk, env: dict[str, str], said: str
) -> None:
    ran = tk(**{**NOWHERE, **env})
    assert ran.code == (2 if "nonsense" in said else 3)
    assert ran.out == ""
    first, *rest = ran.err.splitlines()
    assert first.startswith(f"torchkeeper: {said}")
    assert len(rest) == 2
    assert "QT_QPA_PLATFORM" in ran.err


@pytest.mark.parametrize("env", [{}, {"QT_QPA_PLATFORM": "xcb"}])
def test_without_a_display_it_helps_and_says_what_the_window_needs(
    tk: Tk, tmp_path: Path, env: dict[str, str]
) -> None:
    ran = tk(**{**NOWHERE, **env})
    assert (ran.code, ran.err) == (0, "")
    *helped, last = ran.out.splitlines()
    assert "\n".join(helped).strip() == tk("--help").out.strip()
    assert last.startswith("The window needs a display: set DISPLAY or WAYLAND_DISPLAY")
    asked = tk(tmp_path, **{**NOWHERE, **env})
    assert (asked.code, asked.out) == (3, "")
    assert "There is no display" in asked.err and "QT_QPA_PLATFORM" in asked.err
    # As in a container, which has no library of a window either.
    (tmp_path / "libEGL.so.1").touch()
    assert tk(**{**NOWHERE, **env, "LD_LIBRARY_PATH": str(tmp_path)}).out == ran.out


@pytest.mark.parametrize(
    ("library", "package"),
    [("libEGL.so.1", "libegl1"), ("libxcb-cursor.so.0", "libxcb-cursor0")],
)
def test_a_library_that_is_missing_is_told_by_name_and_package(
    tk: Tk, tmp_path: Path, library: str, package: str
) -> None:
    # The loader takes the first of this name, which is none.
    (tmp_path / library).touch()
    ran = tk(**{**NOWHERE, "DISPLAY": ":97", "LD_LIBRARY_PATH": str(tmp_path)})
    assert ran.code == 3
    assert f"The library {library} is not installed" in ran.err
    assert f"apt install {package}." in ran.err


def test_pictures_without_a_library_say_which(tk: Tk, tmp_path: Path) -> None:
    (tmp_path / "libEGL.so.1").touch()
    ran = tk("shots", tmp_path / "out", LD_LIBRARY_PATH=str(tmp_path))
    assert ran.code == 3
    assert "libegl1" in ran.err
    assert "Traceback" not in ran.err


def test_a_compositor_that_listens_is_enough(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "wayland-3"))
        env = {"XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-3"}
        with pytest.raises(UserError):
            display.check(env)  # nobody listens
        door.listen()
        display.check(env)
        display.check({**env, "DISPLAY": ":97"})
        display.check({**env, "QT_QPA_PLATFORM": "wayland;xcb"})


def test_a_platform_without_a_screen_needs_none() -> None:
    display.check({"QT_QPA_PLATFORM": "offscreen"})
    display.check({"QT_QPA_PLATFORM": f"offscreen:configfile={os.devnull}"})


def test_a_word_too_many_is_shown_and_not_obeyed_by_the_terminal(tk: Tk) -> None:
    """As ``ls *`` gives in a folder with such a file."""
    ran = tk("places", "ev\x1b]0;pwn\x07il\u202e")
    assert ran.code == 2
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.out + ran.err)


def test_a_command_after_what_it_is_to_do_comes_first(tk: Tk) -> None:
    for words in (["redis://h:6379", "ls"], ["./x", "ls"], [".", "ls"]):
        ran = tk(*words, **NOWHERE)
        assert ran.code == 2
        assert "“ls” is a command" in ran.err and "Did you mean" not in ran.err


@pytest.mark.parametrize(
    ("words", "stray"),
    [(["-x"], "-x"), (["-xls"], "-xls"), (["ls", "-x"], "-x"), (["config", "show", "-x"], "-x")],
)
def test_an_option_that_there_is_not_is_what_is_wrong(tk: Tk, words: list[str], stray: str) -> None:
    ran = tk(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"unrecognized arguments: {stray}" in ran.err and "required" not in ran.err


def test_what_is_no_file_that_can_be_read_is_said(tk: Tk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    special = [tmp_path / "pipe", "/dev/zero"]
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        special.append(tmp_path / "socket")
        if sys.platform == "linux":
            # A file of which no byte can be read, a folder whose path is nobody's to follow.
            special += ["/proc/self/mem", "/proc/1/root/x"]
        for path in special:
            for words in (["ls", path], ["inspect", path], ["copy", path, tmp_path / "to"]):
                ran = tk(*words)
                assert (ran.code, ran.out) == (3, ""), words
                assert "mistake" not in ran.err and str(path) in ran.err
        cache = tmp_path / "cache"
        cache.mkdir()
        ran = tk("copy", cache, "/proc/1/root/x")
        assert ran.code != 0 and "mistake" not in ran.err


def test_ls_starts_one_engine_and_ends_it(
    tk: Tk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is started before the words are understood, and so also where they are wrong."""
    begun: list[process.Engine] = []

    class Counted(process.Engine):
        def __init__(self) -> None:
            super().__init__()
            begun.append(self)

    monkeypatch.setattr(process, "Engine", Counted)
    assert main.run(["ls", str(tmp_path), "--json"]) == 0
    for wrong in ("--no-such-option", "--help"):  # who asks for help gets none
        with pytest.raises(SystemExit):
            main.run(["ls", wrong])
    assert len(begun) == 2
    assert [one.returncode is not None for one in begun] == [True, True]
    assert tk("ls").code == 2
