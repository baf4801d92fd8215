"""Who else can change what lies in a folder: real files of real users, and what is said of them."""

from __future__ import annotations

import json
import os
import pwd
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from torchkeeper.artifacts.layout import JOURNAL, TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words import owned
from torchkeeper.stores.folders import owners, walking
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.owners import Accounts
from torchkeeper.stores.shapes import Owned, Who

ROOT = os.geteuid() == 0
#: Another user and another group of every system, and ids that nobody has.
OTHER, NOBODY_HAS = 1, 54_321
gives = pytest.mark.skipif(not ROOT, reason="only root can give files away")


def cache(among: Path, name: str = "cache") -> Path:
    """A cache folder with a kernel and a profile in it, as a umask of 022 makes them."""
    place = among / name
    kernel = place / "triton" / "0" / "KERNEL"
    kernel.mkdir(parents=True)
    (kernel / "k.json").write_text("{}")
    (place / "ab").mkdir()
    (place / "ab" / "cab.py").write_text("")
    for folder, _, names in os.walk(place):
        os.chmod(folder, 0o755)
        for one in names:
            os.chmod(os.path.join(folder, one), 0o644)
    return place


def found(place: Path) -> list[Owned]:
    """What a walk and what it saw come to."""
    folder = Folder(str(place))
    folder.items(Report())
    return owners.findings(str(place), folder.seen)


def codes(place: Path) -> list[tuple[str, bool]]:
    return [(one["what"], one["grave"]) for one in found(place)]


def sentences(place: Path) -> list[str]:
    return [one.what for one in owned.told(found(place))]


def test_nothing_is_said_of_a_folder_of_ones_own(among: Path, tmp_path: Path) -> None:
    assert found(cache(among)) == []
    assert owners.glance(str(cache(among, "other"))) == []
    assert owners.glance(str(among / "not there yet")) == []
    place = cache(tmp_path)
    place.chmod(0o777)
    (place / "ab" / "cab.py").chmod(0o666)
    assert found(place) == [], "nobody else gets there"


@pytest.mark.parametrize("at", ["", "ab", "triton/0/KERNEL", "ab/cab.py", "triton/0/KERNEL/k.json"])
def test_what_everybody_may_write_to_is_grave(among: Path, at: str) -> None:
    place = cache(among)
    one = place / at
    one.chmod(one.stat().st_mode | 0o002)
    [said] = found(place)
    assert (said["what"], said["grave"], said["who"]["kind"]) == ("writable", True, "all")
    assert (said["folders"], said["files"]) == ((1, 0) if one.is_dir() else (0, 1))
    assert said["path"] == str(one)
    [words] = owned.told([said])
    assert words.command == f"chmod -R go-w {place}"
    assert words.command in words.remedy
    # Of another machine, as it is called there.
    [far] = owned.told([{**said, "place": "ssh://there/~/a%20b", "root": "ssh://there/~/a%20b"}])
    assert far.command == "chmod -R go-w ~/'a b'" and "ssh://there/~/a%20b" in far.what
    assert os.system(words.command) == 0
    assert found(place) == []


def test_a_sticky_folder_lets_everybody_add(among: Path) -> None:
    place = cache(among)
    place.chmod(0o1777)
    assert sentences(place) == [f"Everybody may add files to {place}."]
    assert [one.what for one in owned.grave(owners.glance(str(place)))] == sentences(place)


@gives
def test_a_group_is_a_warning_among_everybody_and_a_fact_elsewhere(
    among: Path, beside: Path
) -> None:
    place = cache(among)
    for one in (place, place / "ab" / "cab.py"):
        os.chown(one, 0, OTHER)
        one.chmod(one.stat().st_mode | 0o020)
    group = Accounts().group(OTHER).name
    assert codes(place) == [("writable", True)]
    assert sentences(place) == [f"The group {group} may write to 1 folder and 1 file of {place}."]
    team = cache(beside, "team")
    os.chown(team, 0, OTHER)
    team.chmod(0o2775)
    assert codes(team) == [("writable", False)]
    [words] = owned.told(found(team))
    assert "that is intended" in words.why
    assert words.short == f"the group {group} may write to it"
    team.chmod(0o2777)
    assert codes(team) == [("writable", True)]
    # Behind a door that only a group may pass, everybody is that group.
    beside.chmod(0o750)
    os.chown(beside, 0, OTHER)
    assert codes(team) == [("writable", False)]


def test_a_group_of_ones_own_is_nobody(among: Path) -> None:
    place = cache(among)
    accounts = Accounts()
    if not accounts.alone(os.getegid()):
        pytest.skip("this user has no group of the same name")
    for folder, _, names in os.walk(place):
        for one in (folder, *(os.path.join(folder, name) for name in names)):
            os.chmod(one, os.stat(one).st_mode | 0o020)
    assert found(place) == []


def test_a_group_that_others_are_in_is_not_ones_own() -> None:
    accounts = Accounts()
    assert not accounts.alone(NOBODY_HAS)
    assert accounts.alone(0) == (not accounts._group(0)[1] - {accounts.myself, "root"})
    users = [one.pw_gid for one in pwd.getpwall() if one.pw_uid not in (accounts.me, 0)]
    assert not any(accounts.alone(gid) for gid in users if gid not in (0, os.getegid()))


@gives
def test_whoever_made_the_folder_before_runs_what_he_wants(
    among: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(among))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    name = Accounts().user(OTHER).name
    place = cache(among, f"torchinductor_{Accounts().myself}")
    os.chown(place, OTHER, OTHER)
    assert codes(place) == [("taken", True)]
    [words] = owned.told(found(place))
    assert words.what.endswith(f"where PyTorch looks for your cache, belongs to {name}.")
    assert str(among) in words.why
    assert words.command.endswith('export TMPDIR="$HOME/.cache/tmp"'), "headers come from there"
    assert "precompiled C++ headers" in words.why
    mine = cache(among, "mine")
    assert found(mine) == owners.glance(str(mine)) == []
    assert [one["what"] for one in owners.of_program(str(mine))] == ["taken"]
    # Another's, that PyTorch does not look for, is that and no more; so are all files in it.
    other = cache(among, "torchinductor_other")
    for folder, _, names in os.walk(other):
        for one in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(one, NOBODY_HAS, NOBODY_HAS)
    assert codes(other) == [("owner", True)]
    assert [one["what"] for one in owners.glance(str(other))] == ["owner"]
    [words] = owned.told(found(other))
    assert words.what == f"{other} belongs to a user without a name (number {NOBODY_HAS})."
    assert words.why.startswith(f"Everybody may make folders in {among}.")
    assert "another number" in words.why, "as in a container"
    assert words.remedy.startswith("If you do not trust that")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(other))
    assert codes(other) == [("taken", True)]
    assert "TORCHINDUCTOR_CACHE_DIR" in owned.told(found(other))[0].command


@gives
def test_entries_of_others_are_counted_and_named(among: Path, beside: Path) -> None:
    place = cache(among)
    os.chown(place / "ab" / "cab.py", OTHER, OTHER)
    os.chown(place / "triton" / "0" / "KERNEL", NOBODY_HAS, 0)
    (place / "link").symlink_to("/etc")
    os.chown(place / "link", NOBODY_HAS, 0, follow_symlinks=False)
    (place / f"{JOURNAL}1.jsonl").write_text("")
    os.chown(place / f"{JOURNAL}1.jsonl", OTHER, OTHER)
    name = Accounts().user(OTHER).name
    assert codes(place) == [("entries", True)]
    [words] = owned.told(found(place))
    assert words.what == (
        f"1 folder and 2 files in {place} belong to 2 other users: a user without a name "
        f"(number {NOBODY_HAS}) (2), {name} (1)."
    )
    assert words.command == f"torchkeeper purge {place} --filter is:foreign"
    folder = Folder(str(place))
    items = {item.path: item for item in folder.items(Report())}
    own = {path: folder.seen.owner(f.path for f in item.files) for path, item in items.items()}
    assert own == {"triton/0/KERNEL/k.json": f"uid {NOBODY_HAS}", "ab/cab.py": name,
                   "link": f"uid {NOBODY_HAS}"}  # fmt: skip
    team = cache(beside, "team")
    os.chown(team / "ab" / "cab.py", OTHER, OTHER)
    assert codes(team) == [("entries", False)]


@gives
def test_a_folder_of_another_is_a_fact_in_a_folder_of_ones_own(among: Path, beside: Path) -> None:
    team = cache(beside, "team")
    os.chown(team, OTHER, OTHER)
    assert codes(team) == [("owner", False)]
    [words] = owned.told(found(team))
    assert "Everybody" not in words.why
    closed = among / "closed"
    closed.mkdir(0o700)
    place = cache(closed)
    os.chown(place, OTHER, OTHER)
    assert codes(place) == [("owner", False)], "nobody else gets there"
    os.chown(closed, OTHER, OTHER)
    assert codes(place) == [("owner", True)], "but that one does"


@gives
def test_a_trash_of_somebody_else_is_pointed_out(among: Path, beside: Path) -> None:
    name = Accounts().user(OTHER).name
    place, team = cache(among), cache(beside, "team")
    for one in (place, team):
        (one / TRASH).mkdir(0o755)
        assert found(one) == []
        os.chown(one / TRASH, OTHER, OTHER)
    assert codes(place) == [("trash", True)]
    assert codes(team) == [("trash", False)]
    assert owners.glance(str(place)) == found(place)
    [words] = owned.told(found(place))
    assert words.what == f"The trash in {place} belongs to {name}."
    assert words.command == f"rm -r {place / TRASH}"
    os.chown(place, OTHER, OTHER)
    assert codes(place) == [("owner", True)], "it is that one's folder"
    (place / TRASH).rmdir()
    (place / TRASH).symlink_to(team)
    os.chown(place, 0, 0)
    assert found(place) == []
    os.chown(place / TRASH, OTHER, OTHER, follow_symlinks=False)
    assert codes(place) == [("trash", True)]
    assert os.system(words.command) == 0
    assert (found(place), team.is_dir()) == ([], True)


@gives
def test_a_link_that_somebody_else_made_is_pointed_out(among: Path) -> None:
    place = cache(among)
    link = among / "link"
    link.symlink_to(place)
    assert found(link) == []
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    assert codes(link) == [("link", True)]
    (among / "mine").symlink_to("link")
    [words] = owned.told(found(among / "mine"))
    assert words.what.startswith(f"{link}, on the way to {among / 'mine'}, is a link")
    loop = among / "loop"
    loop.symlink_to("loop")
    assert owners.glance(str(loop)) == []


def test_whoever_may_rename_a_folder_above_is_named(among: Path) -> None:
    above = among / "above"
    above.mkdir(0o755)
    place = cache(above)
    above.chmod(0o777)
    assert codes(place) == [("above", True)]
    [words] = owned.told(found(place))
    assert words.what == f"Everybody may write to {above}, which holds {place}."
    assert words.command == f"chmod go-w {above}"
    assert owners.glance(str(above / "not there yet"))[0]["what"] == "above"
    above.chmod(0o1777)
    assert codes(place) == [], "nobody can rename what is of others there"
    above.chmod(0o700)
    (place / "ab").chmod(0o777)
    assert codes(place) == [], "nobody gets there"


@gives
def test_a_folder_above_that_is_of_another_user_is_pointed_out(among: Path) -> None:
    above = among / "above"
    above.mkdir()
    above.chmod(0o755)
    place = cache(above)
    os.chown(above, OTHER, OTHER)
    assert codes(place) == [("above", True)]
    os.chown(place, OTHER, OTHER)
    assert codes(place) == [("owner", True)], "said once"


@gives
def test_who_cannot_change_a_mode_is_told_what_else_to_do(among: Path) -> None:
    place = cache(among)
    os.chown(place, NOBODY_HAS, OTHER)
    place.chmod(0o777)
    team = cache(among, "team")
    os.chown(team, 0, OTHER)
    team.chmod(0o775)
    assert codes(place) == [("owner", True), ("writable", True)], "root can mend it"
    os.seteuid(OTHER)
    try:
        said, mine = found(place), found(team)
    finally:
        os.seteuid(0)
    assert [(one["what"], one["grave"]) for one in said] == [("owner", True), ("writable", False)]
    assert {one.command for one in owned.told(said)} == {
        'export TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"'
    }
    if Accounts().user(OTHER).name == Accounts().group(OTHER).name:
        assert mine == [], "it is that user's own group"


def _list(*entries: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)


def test_lists_of_who_may_write_are_read(among: Path) -> None:
    """As setfacl -m u:54321:rw makes them (acl(5))."""
    place = cache(among)
    none = 0xFFFF_FFFF
    one = place / "ab" / "cab.py"

    def allow(mask: int) -> None:
        os.setxattr(one, "system.posix_acl_access", _list(
            (0x01, 6, none), (0x02, 6, NOBODY_HAS), (0x04, 4, none), (0x10, mask, none),
            (0x20, 4, none)))  # fmt: skip

    try:
        allow(6)
    except OSError as e:
        pytest.skip(f"this file system has no such lists: {e.strerror}")
    if not Accounts().alone(os.stat(one).st_gid):
        pytest.skip("this user has no group of the same name")
    assert one.stat().st_mode & 0o020
    [said] = found(place)
    assert (said["what"], said["who"]["kind"], said["who"]["number"]) == (
        "writable", "user", NOBODY_HAS)  # fmt: skip
    assert os.system(owned.told([said])[0].command) == 0
    assert found(place) == [], "the mask is what they may have at most"
    allow(4)
    assert found(place) == []


@gives
def test_two_processes_see_what_one_sees(among: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = cache(among)
    for number in range(40):
        folder = place / "triton" / "0" / f"K{number}"
        folder.mkdir()
        (folder / "k.json").write_text("")
        os.chown(folder / "k.json", OTHER if number % 2 else 0, OTHER)
        (folder / "k.json").chmod(0o664)
    alone = found(place)
    monkeypatch.setattr(walking, "_MANY", 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert found(place) == alone
    assert [one["files"] for one in alone] == [40, 20]


def test_words_survive_whatever_things_are_called() -> None:
    assert owned.told(None) == []
    assert owned.told([{"what": "nonsense", "grave": True, "place": "/t"}]) == []
    strange = "/t/\x1b]0;x'\n"
    who: Who = {"kind": "user", "number": 7, "name": "a\x1b[31m"}
    for what in ("taken", "owner", "link", "above", "writable", "entries", "trash"):
        for grave in (True, False):
            finding: Owned = {
                "what": what, "grave": grave, "mine": True, "who": who, "place": strange,
                "root": strange, "path": strange, "among": strange, "users": 2, "folders": 1,
                "files": 1, "owners": [(who, 1)],
            }  # fmt: skip
            [one] = owned.told([finding])
            assert not any("\x1b" in part for part in one[:5]), one
            assert "\n" not in one.command
            assert owned.to_json([finding])[0]["code"] == what


@gives
def test_who_has_no_id_in_a_container_is_nobody_by_name(among: Path) -> None:
    """As in a container without root's rights, where all unknown ids are one."""
    place = cache(among)
    os.chown(place / "ab" / "cab.py", OTHER, OTHER)
    source = str(Path(owners.__file__).parents[3])
    script = (
        f"import json, sys; sys.path.insert(0, {source!r}); "
        "from torchkeeper.stores.folders import owners; "
        "from torchkeeper.stores.folders.folder import Folder; "
        "from torchkeeper.artifacts.report import Report; "
        f"folder = Folder({str(place)!r}); folder.items(Report()); "
        "print(json.dumps(owners.findings(folder.place, folder.seen)))"
    )
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-I", "-S", "-c", script]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there are no user namespaces here")
    [said] = json.loads(done.stdout)
    assert (said["what"], said["users"], said["who"]["name"]) == ("entries", 1, None)
    assert "In a container, this may be you" in owned.told([said])[0].why
