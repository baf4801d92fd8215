"""Rules on the profiles of jobs, each with what real torch then does."""

from __future__ import annotations

import pytest

from tests.redis_server import Server
from tests.settings.conftest import Done, Torch
from tests.settings.ruling import codes, found, mended
from tests.settings.test_rules_remote import named

#: What torch then does takes a second for each; the rules of caches and servers stand for these.
pytestmark = pytest.mark.slow

JOB, KEY = "TORCH_COMPILE_JOB_ID", "TORCH_COMPILE_STICKY_PGO_KEY"
LOCAL = "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO"
REMOTE = "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO"
READ, WRITE = "TORCH_COMPILE_STICKY_PGO_READ", "TORCH_COMPILE_STICKY_PGO_WRITE"


def profiles(done: Done) -> list[str]:
    """The names of the profiles in a cache folder."""
    return sorted(path.name for path in done.folder.glob("dynamo/*.pkl"))


def kept(server: Server) -> list[str]:
    """The jobs and ranks whose profiles are on a server."""
    found = server("KEYS", "pt2:dynamo-pgo::*")
    assert isinstance(found, list)
    return sorted(key.decode().split("::")[1] for key in found)


def test_a_job_has_a_profile(torch: Torch) -> None:
    for name in (JOB, KEY):
        assert codes({name: "job"}) == set()
        assert profiles(torch({name: "job"})) == ["code_state_job_None_.pkl"]


@pytest.mark.parametrize(("name", "text"), [(JOB, "1"), (KEY, "0")])
def test_a_job_that_is_named_1_ends_every_compile(torch: Torch, name: str, text: str) -> None:
    values = {name: text}
    finding = found(values, "job-is-number")
    assert codes(values) == {finding.code}
    done = torch(values)
    assert "AttributeError: 'bool' object has no attribute 'startswith'" in done.error
    for other in ({LOCAL: "0"}, {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}):
        assert "AttributeError" in torch(values | other).error
    off = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    assert finding.code not in codes(values | off)
    assert torch(values | off).error == ""
    assert profiles(torch(mended(values, finding))) == [f"code_state_job-{text}_None_.pkl"]


def test_a_job_whose_name_is_reserved(torch: Torch) -> None:
    values = {JOB: "mast:mine"}
    finding = found(values, "job-reserved")
    assert codes(values) == {finding.code}
    assert "ReservedWorkflowIdUserError" in torch(values).error
    assert profiles(torch(mended(values, finding))) == ["code_state_job-mine_None_.pkl"]


def test_an_empty_name_is_a_name(torch: Torch) -> None:
    values = {JOB: ""}
    finding = found(values, "job-empty")
    assert profiles(torch(values)) == ["code_state__None_.pkl"]
    assert profiles(torch(mended(values, finding))) == []


@pytest.mark.parametrize("name", [REMOTE, LOCAL, READ, WRITE])
def test_without_a_job_there_is_no_profile(torch: Torch, server: Server, name: str) -> None:
    values = {name: "1" if name in (LOCAL, REMOTE) else "other", **named(server)}
    assert found(values, "profile-without-job").params == {"name": name}
    done = torch({**values, REMOTE: "1"})
    assert (done.error, profiles(done), kept(server)) == ("", [], [])
    assert "profile-without-job" not in codes({**values, JOB: "job"})


def test_a_profile_that_is_kept_nowhere(torch: Torch, server: Server) -> None:
    values = {JOB: "job", LOCAL: "0"}
    finding = found(values, "job-unused")
    assert profiles(torch(values)) == []
    assert profiles(torch(mended(values, finding))) == ["code_state_job_None_.pkl"]
    assert "job-unused" not in codes({**values, REMOTE: "1"})
    torch({**values, REMOTE: "1", **named(server)})
    assert kept(server) == ["job:None"]


def test_profiles_of_other_jobs_are_on_a_server_only(torch: Torch, server: Server) -> None:
    values = {JOB: "job", WRITE: "all", **named(server)}
    finding = found(values, "sticky-without-server")
    done = torch(values)
    assert (profiles(done), kept(server)) == (["code_state_job_None_.pkl"], [])
    torch(mended(values, finding))
    assert kept(server) == ["all:None", "job:None"]


def test_a_profile_of_another_job_is_read_from_a_server(torch: Torch, server: Server) -> None:
    code = "from torch._dynamo import pgo\ntold['known'] = len(pgo.get_code_state())"
    torch({JOB: "first", REMOTE: "1", WRITE: "all", **named(server)})
    values = {JOB: "second", READ: "all", **named(server)}
    assert "sticky-without-server" in codes(values)
    assert torch(values, "code", code=code).told["told"] == {"known": 0}
    finding = found(values, "sticky-without-server")
    assert torch(mended(values, finding), "code", code=code).told["told"] == {"known": 1}


@pytest.mark.parametrize(("text", "read"), [("1", "True"), ("0", "False")])
def test_another_job_that_is_named_1(torch: Torch, server: Server, text: str, read: str) -> None:
    values = {JOB: "job", WRITE: text, REMOTE: "1", **named(server)}
    finding = found(values, "sticky-is-number")
    assert finding.params == {"name": WRITE, "read": read}
    torch(values)
    assert kept(server) == sorted([f"{read}:None", "job:None"])
    assert WRITE not in mended(values, finding)
