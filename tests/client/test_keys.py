"""The keys of the user: in his folder, in a real agent, in a file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import agent as running
from torchkeeper.client import signers
from torchkeeper.client.words.problems import UserError


def make(path: Path, *more: str, phrase: str = "") -> Path:
    """A new key, with its public half beside it."""
    how = ["-q", "-t", "ed25519", "-C", f"ada@{path.name}", "-N", phrase, *more]
    subprocess.run(["ssh-keygen", *how, "-f", path], check=True)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``~/.ssh`` of a user without an agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    made = tmp_path / ".ssh"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def agent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A real ssh-agent, which ends with the test."""
    with running() as socket:
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        yield


def names(found: signers.Found) -> list[str]:
    return [os.path.basename(one.name) for one in found.keys]


def test_those_with_which_something_can_be_signed(folder: Path) -> None:
    first = make(folder / "a")
    make(folder / "locked", phrase="secret")
    make(folder / "gone").unlink()
    (folder / "b.pub").write_text("no key")
    found = signers.found()
    assert (names(found), found.without_agent) == (["a", "locked"], "No ssh-agent is running.")
    listed = subprocess.run(["ssh-keygen", "-l", "-f", first], capture_output=True, check=True)
    one = found.keys[0]
    said = listed.stdout.decode().split()[1]
    assert one == signers.Key(str(first), "ssh-ed25519", said, "ada@a", agent=False)


def test_what_an_agent_holds(folder: Path, agent: None, tmp_path: Path) -> None:
    assert signers.found() == signers.Found([], "ssh-agent holds no key.")
    held, only = make(folder / "held"), make(tmp_path / "only")
    public = make(folder / "public")
    subprocess.run(["ssh-add", "-q", held, only, public], check=True)
    public.unlink()
    only.unlink()
    found = signers.found()
    assert found.without_agent == ""
    assert [one.agent for one in found.keys] == [True] * 3
    assert names(found)[:2] == ["held", "public.pub"]
    named = found.keys[2].name
    assert named == " ".join((tmp_path / "only.pub").read_text().split()[:2])
    # All of them sign, though of two no private half is in a file.
    for number, one in enumerate(found.keys):
        private = tmp_path / f"signing-{number}"
        private.mkdir()
        target = private / "m"
        target.write_text("what is signed")
        assert "SSH SIGNATURE" in signers.Keygen(one.name, str(target)).sign()


def test_an_agent_that_is_gone_is_no_key_less(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder / "a")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(folder / "nobody"))
    assert signers.found().without_agent == "ssh-agent does not answer."
    assert names(signers.found()) == ["a"]


def test_the_key_of_a_file(folder: Path, tmp_path: Path) -> None:
    whole = make(tmp_path / "whole", phrase="secret")
    known = signers.of_file(str(whole))
    whole.with_suffix(".pub").unlink()
    alone = signers.of_file(str(whole))
    assert (alone.name, alone.fingerprint) == (known.name, known.fingerprint)
    text = tmp_path / "text"
    text.write_text("no key\n")
    for path, why in ((text, "It is no key of OpenSSH"), (tmp_path, "no such file")):
        with pytest.raises(UserError) as caught:
            signers.of_file(str(path))
        assert caught.value.code == "key-unusable"
        assert why in caught.value.why


def test_without_openssh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(folder / "a")
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(UserError) as caught:
        signers.found()
    assert caught.value.code == "ssh-keygen-missing"
