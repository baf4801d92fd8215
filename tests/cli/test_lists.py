"""What commands list: of several places, in chosen columns, on a terminal or not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.ssh.elsewhere import ANYWHERE
from tests.terminals import Terminal, on_terminal

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_KEY = re.compile(r"\b[a-z0-9]{50,}\b")


@ANYWHERE
def test_several_places_are_listed_as_one(tk: Tk, kept_291: Path, kept_215: Path) -> None:
    places = [str(kept_291), str(kept_215 / "cache")]
    alone = [tk("ls", place, "--json").objects for place in places]
    rows = tk("ls", *places, "--json").objects
    for place, own in zip(places, alone, strict=True):
        mine = [{k: v for k, v in row.items() if k != "place"} for row in rows
                if row["place"] == place]  # fmt: skip
        assert sorted(mine, key=json.dumps) == sorted(own, key=json.dumps)
    said = tk("ls", *places, "--sort", "size", "--limit", "5").out.splitlines()
    assert said[0].split()[:2] == ["PLACE", "KIND"]
    largest = sorted((-row["size"], row["path"]) for row in rows)[:5]
    assert [-row["size"] for row in tk("ls", *places, "--sort", "size", "--json").objects[:5]] == [
        size for size, _ in largest
    ]
    assert len([line for line in said if _KEY.search(line)]) == 5
    assert [line.partition(":")[0] for line in said if " entries, " in line] == places


@ANYWHERE
def test_a_place_that_is_named_twice_is_listed_once(tk: Tk, kept_291: Path) -> None:
    assert tk("ls", kept_291, kept_291).out == tk("ls", kept_291).out


@pytest.mark.parametrize("file", ["x.bin", "x.torchcache"])
def test_of_a_missing_file_it_is_not_said_that_it_is_a_folder(tk: Tk, file: str) -> None:
    for command in ("ls", "verify", "overview"):
        ran = tk(command, f"/nowhere/{file}")
        assert (ran.code, ran.out) == (3, "")
        assert f"There is no file /nowhere/{file}. Check the path." in " ".join(ran.err.split())


@ANYWHERE
@pytest.mark.parametrize("command", ["ls", "du", "check"])
def test_what_cannot_be_looked_at_hides_nothing_of_the_others(
    tk: Tk, kept_291: Path, command: str
) -> None:
    whole = tk(command, kept_291, "--json")
    ran = tk(command, kept_291, "/nowhere", "--json")
    assert ran.code == 4
    assert len(ran.objects) == len(whole.objects) + 1
    assert ran.objects[-1]["error"]["code"] == "place-missing"
    assert "There is no folder /nowhere" in ran.err
    none = tk(command, "/nowhere", "/neither")
    assert (none.code, none.out) == (3, "")
    assert "/nowhere" in none.err and "/neither" in none.err


@ANYWHERE
def test_du_of_several_places_says_whose_each_line_is(
    tk: Tk, kept_291: Path, kept_215: Path
) -> None:
    places = [kept_291, kept_215 / "cache"]
    for more in ((), ("--filter", "kind:fxgraph")):
        rows = tk("du", *places, *more, "--json").objects
        for place in places:
            own = tk("du", place, *more, "--json").objects
            mine = [row for row in rows if row.pop("place", str(place)) == str(place)]
            assert mine[-1]["kind"] == "total" and len(mine) >= len(own)
        lines = tk("du", *places, *more).out.splitlines()
        assert lines[0].startswith("PLACE ")
        assert sum(line.startswith(str(kept_291)) and " total " in line for line in lines) == 1


@ANYWHERE
def test_check_of_several_places_gives_each_entry_its_own_reasons(
    tk: Tk, kept_291: Path, kept_215: Path
) -> None:
    places = [kept_291, kept_215 / "cache"]
    rows = tk("check", *places, "--json").objects
    for place in places:
        own = tk("check", place, "--json").objects
        mine = [row for row in rows if row.get("place") == str(place)]
        said = [{k: v for k, v in row.items() if k != "place"} for row in mine]
        assert said == [row for row in own if "result" not in row]
    results = [row["result"] for row in rows if "result" in row]
    assert [one["place"] for one in results] == list(map(str, places))


@ANYWHERE
def test_columns_are_those_that_are_asked_for(tk: Tk, kept_291: Path) -> None:
    ran = tk("ls", kept_291, "--columns", "size,key", "--no-header", "--limit", "3")
    rows = tk("ls", kept_291, "--json", "--limit", "3").objects
    assert len(rows) == 3
    lines = ran.out.splitlines()
    assert [line.split()[-1] for line in lines] == [row["key"] for row in rows]
    assert tk("ls", kept_291, "--columns", "key,size").out.splitlines()[0].split() == [
        "KEY", "CONTENT",
    ]  # fmt: skip
    for command in (["ls", kept_291], ["du", kept_291], ["check", kept_291], ["places"]):
        wrong = tk(*command, "--columns", "nothing")
        assert wrong.code == 2
        assert "“nothing” is none of " in wrong.err
    verdicts = tk("ls", kept_291, "--columns", "verdict", "--no-header").out.split()
    assert {"stale", "unknown", "usable", "conditional", "-"} >= set(verdicts) > {"-"}


@ANYWHERE
@pytest.mark.slow
def test_every_column_that_is_offered_can_be_printed(tk: Tk, kept_291: Path) -> None:
    from torchkeeper.cli import listing

    for name in listing.NAMES:
        lines = tk("ls", kept_291, "--columns", name, "--limit", "2").out.splitlines()
        assert lines[0].isupper() and len(lines) >= 3, name
    du = tk("du", kept_291, "--columns", "place,on-disk", "--no-header").out.splitlines()
    assert all(line.startswith(str(kept_291)) for line in du)
    overview = tk("overview", kept_291, "--columns", "place,free", "--no-header").out.splitlines()
    assert len(overview) == 1 and overview[0].startswith(str(kept_291))


@ANYWHERE
def test_a_limit_is_a_number(tk: Tk, kept_291: Path) -> None:
    assert tk("ls", kept_291, "--limit", "0", "--no-header").out == ""
    assert tk("ls", kept_291, "--limit", "-1").code == 2
    assert tk("ls", kept_291, "--limit", "many").code == 2


@ANYWHERE
def test_quiet_says_the_answer_and_what_is_wrong(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    loud, quiet = (tk("check", kept_291, *more) for more in ((), ("--quiet",)))
    assert (quiet.code, quiet.err) == (loud.code, "")
    assert loud.err and quiet.out.splitlines() == loud.out.splitlines()[:-1], "without the sum"
    assert tk("ls", "/nowhere", "-q").err == tk("ls", "/nowhere").err != ""
    assert tk("ls", kept_291, "-q", "-v").code == 2
    (tmp_path / "b.torchcache").write_bytes(b"PK\x05\x06" + bytes(18))
    own = shutil.copytree(kept_291, tmp_path / "own")
    for words in (("purge", own, "--older", "60d", "--yes"), ("purge", own, "--yes"),
                  ("trash", own, "--empty", "--yes")):  # fmt: skip
        done = tk(*words, "--quiet")
        assert (done.out, done.err) == ("", ""), "cron would send a mail of it"
    told = tk("config", "check", "--quiet")
    assert told.err == ""


@ANYWHERE
def test_verbose_names_each_entry_that_is_left(tk: Tk, fixture_cache: Path, tmp_path: Path) -> None:
    for graph in [p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file()][:3]:
        graph.write_bytes(b"x")
    words = ("export", "--allow-secrets", fixture_cache, "-o", tmp_path / "b")
    said = [tk(*words, *more).err.count("\nleft: ") for more in ((), ("-v",))]
    assert said[1] >= said[0] + 2
    quiet = tk(*words, "-q")
    assert quiet.code == 4 and "left: " in quiet.err


def test_names_are_whole_on_a_narrow_terminal(tk: Tk, kept_291: Path) -> None:
    names = {row["name"] for row in tk("ls", kept_291, "--json").objects if row["name"]}
    for columns in (40, 80, 300):
        code, said = on_terminal("ls", kept_291, "--no-pager", columns=columns)
        assert code == 0
        assert all(name in said for name in names)
        assert not _KEY.search(said), "a person reads the beginning of a key"
    heads = said.splitlines()[0].split()
    assert "DEVICE" in heads
    narrow = on_terminal("ls", kept_291, "--no-pager", columns=60)[1].splitlines()[0].split()
    assert narrow[:2] == ["KIND", "KEY"] and narrow[-1] == "NAME" and len(narrow) < len(heads)
    wanted = on_terminal("ls", kept_291, "--no-pager", "--columns", "key,device,name", columns=40)
    assert wanted[1].split()[:3] == ["KEY", "DEVICE", "NAME"]


def test_figures_and_commands_are_whole_on_a_narrow_terminal(tk: Tk, kept_291: Path) -> None:
    words = ("overview", kept_291, "--keep", "1k", "--no-pager")
    commands = re.findall(r"torchkeeper purge .*", tk(*words).out)
    assert commands
    for columns in (40, 80, 120):
        code, said = on_terminal(*words, columns=columns)
        assert code == 0 and "…" not in said
        assert all(command in said for command in commands)
        assert " FREE" in said and " USABLE" in said
    where = kept_291.parent / ("long" * 20)
    where.mkdir()
    assert f"{where}  " in on_terminal("places", "--no-pager", columns=40, env={
        "TORCHINDUCTOR_CACHE_DIR": str(where)})[1]  # fmt: skip


def test_verdicts_and_errors_have_colours_on_a_terminal_alone(tk: Tk, kept_291: Path) -> None:
    words = ("check", kept_291, "--no-pager")
    coloured = on_terminal(*words, columns=150)[1]
    assert _COLOUR.findall(coloured)
    assert "\x1b[31mstale\x1b[0m" in coloured
    plain = _COLOUR.sub("", coloured)
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_terminal(*words, columns=150, env=env)[1] == plain
    assert "\x1b" not in tk(*words).out
    wrong = on_terminal("ls", "/nowhere")[1]
    assert wrong.startswith("\x1b[1;31mtorchkeeper:\x1b[0m There is no folder")
    assert "\x1b" not in tk("ls", "/nowhere").err


def _pager(tmp_path: Path, what: str) -> dict[str, str]:
    """A pager that notes what it got, and then does this."""
    script = tmp_path / "pager"
    script.write_text(f"#!/bin/sh\n{what}\n")
    script.chmod(0o755)
    return {"PAGER": str(script)}


@pytest.mark.slow
def test_a_long_list_goes_through_the_pager(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    got = tmp_path / "got"
    env = _pager(tmp_path, f'tee {got}; echo "LESS=$LESS"')
    code, said = on_terminal("ls", kept_291, env=env)
    assert (code, said.splitlines()[-1]) == (0, "LESS=FRX")
    assert got.read_text() == on_terminal("ls", kept_291, "--no-pager")[1]
    got.unlink()
    for words in (("ls", kept_291, "--no-pager"), ("ls", kept_291, "--json")):
        on_terminal(*words, env=env)
    on_terminal("ls", kept_291, env={**env, "TERM": "dumb"})
    on_terminal("purge", kept_291, "--dry-run", env=env)
    tk("ls", kept_291, **env)
    assert not got.exists()
    whole = on_terminal("ls", kept_291, "--no-pager")
    for pager in ("cat", "no-such-pager --at-all"):
        assert on_terminal("ls", kept_291, env={"PAGER": pager}) == whole


def test_quitting_the_pager_is_no_error(kept_291: Path, tmp_path: Path) -> None:
    env = _pager(tmp_path, "head -c 1 >/dev/null; echo enough")
    code, said = on_terminal("ls", kept_291, "--columns", "path", env=env)
    assert (code, said) == (0, "enough\n")


def test_less_shows_it_and_quits(kept_291: Path) -> None:
    terminal = Terminal(["ls", kept_291], PAGER="less", LESS="")
    terminal.until("KIND")
    terminal.type("q")
    assert terminal.end() == 0
    assert " of content" not in terminal.said, "the end of the list was not reached"
