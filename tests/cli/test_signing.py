"""Signing from the command line, and what an import takes without asking."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Tk
from torchkeeper.artifacts import manifest


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_what_a_signer_made_needs_no_trust(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    file, into = tmp_path / "b.torchcache", tmp_path / "into"
    cut_off = tmp_path / ".torchkeeper-0a1b2c3d.tmp"
    cut_off.write_bytes(bytes(1_200_000))
    os.utime(cut_off, (0, 0))
    made = tk("export", kept_291, "-o", file, "--sign", key, "--filter", "kind:fxgraph", "--json",
              "--allow-secrets",
              **config)  # fmt: skip
    assert made.code == 0, made.err
    assert not cut_off.exists()
    assert "Removed what an export that was cut off had left: 1.2 MB.\n" in made.err
    signature = made.result["signature"]
    assert (signature["status"], made.result["size"]) == ("unknown", file.stat().st_size)

    refused = tk("import", file, "--into", into, **config)
    assert refused.code == 2
    assert "by a key that is not among your signers" in refused.out
    assert not into.exists()

    assert tk("signers", "add", "team@example.org", f"{key}.pub", **config).code == 0
    listed = tk("signers", "list", "--json", **config).result
    assert [one["fingerprint"] for one in listed["signers"]] == [signature["fingerprint"]]
    assert oct(os.stat(listed["file"]).st_mode & 0o777) == "0o600"
    inside = tk("inspect", file, "--json", **config).result
    assert (inside["signature"]["status"], inside["signature"]["signer"]) == (
        "trusted", "team@example.org",
    )  # fmt: skip
    copied = tk("copy", file, tmp_path / "copied", "--json", **config)
    assert (copied.code, copied.result["entries"]) == (0, made.result["entries"])
    done = tk("import", file, "--into", into, "--json", **config)
    assert (done.code, done.result["entries"]) == (0, made.result["entries"])

    assert tk("signers", "remove", signature["fingerprint"], **config).code == 0
    assert tk("import", file, "--into", tmp_path / "other", **config).code == 2
    assert tk("copy", file, tmp_path / "other", **config).code == 2
    assert tk("import", file, "--into", tmp_path / "other", "--trust", **config).code == 0


@pytest.mark.slow
def test_signatures_can_be_required(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "b.torchcache"
    assert (
        tk("export", "--allow-secrets", kept_291, "-o", file, "--filter", "kind:fxgraph").code == 0
    )
    assert tk("signers", "require", "on", **config).code == 0
    into = tmp_path / "into"
    refused = tk("import", file, "--into", into, "--trust", **config)
    assert (refused.code, into.exists()) == (1, False)
    assert "signed by nobody" in refused.err
    copied = tk("copy", "--allow-secrets", file, into, "--trust", **config)
    assert (copied.code, into.exists()) == (1, False)
    assert "signed by nobody" in copied.err
    run = tk("verify", file, "--quick", "--trust", "--env", sys.executable, **config)
    assert (run.code, "signed by nobody" in run.err) == (1, True), run.err
    assert "signers require off" in refused.err
    assert tk("sign", file, "--key", key, **config).code == 0
    assert "not among your signers" in tk("import", file, "--into", into, "--trust", **config).err
    public = key.with_suffix(".pub").read_text().strip()
    assert tk("signers", "add", "us", public, **config).code == 0
    assert tk("import", file, "--into", into, **config).code == 0


def test_a_container_brings_its_own_file_of_signers(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    """Named by TORCHKEEPER_SIGNERS: only what these signed is taken, and nobody is asked."""
    file, into, folder = tmp_path / "b.torchcache", tmp_path / "into", tmp_path / "mounted"
    made = tk("export", "--allow-secrets", kept_291, "-o", file, "--filter", "kind:fxgraph",
              "--json")  # fmt: skip
    assert made.code == 0, made.err
    signers = {**config, "TORCHKEEPER_SIGNERS": "mounted/allowed_signers"}

    def imported(*more: str, **env: str) -> Ran:
        return tk("import", file, "--into", into, *more, cwd=tmp_path, **env)

    missing = imported("--trust", **signers)
    assert missing.code != 0
    assert f"{folder}/allowed_signers cannot be used: No such file or directory" in missing.err
    # As Kubernetes mounts it: a link to a link.
    (folder / "..data").mkdir(parents=True)
    public = key.with_suffix(".pub").read_text()
    told = f'ci@example.org namespaces="torchcache" {public}'
    (folder / "..data" / "allowed_signers").write_text(told)
    (folder / "allowed_signers").symlink_to("..data/allowed_signers")
    unsigned = imported("--trust", **signers)
    assert (unsigned.code, into.exists()) == (1, False)
    assert "signed by nobody" in unsigned.err
    assert tk("sign", file, "--key", key, **config).code == 0
    assert imported(**config).code == 2, "the user's own signers, of whom there are none"
    taken = imported("--json", **signers)
    assert (taken.code, taken.result["entries"]) == (0, made.result["entries"])
    listed = tk("signers", "list", "--json", cwd=tmp_path, **signers).result
    assert [one["name"] for one in listed["signers"]] == ["ci@example.org"]
    assert (listed["required"], listed["file"]) == (True, f"{folder}/allowed_signers")
    off = tk("signers", "require", "off", cwd=tmp_path, **signers)
    assert (off.code, "TORCHKEEPER_SIGNERS" in off.err) == (1, True)


def test_a_bundle_that_was_changed_is_refused_even_with_trust(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "b.torchcache"
    assert tk("export", kept_291, "-o", file, "--filter", "kind:code,fxgraph", "--sign", key,
              "--allow-secrets",
              **config).code == 0  # fmt: skip
    data = bytearray(file.read_bytes())
    data[data.index(b'"made_by": "torchkeeper') + 13] ^= 1
    file.write_bytes(data)
    refused = tk("import", file, "--into", tmp_path / "into", "--trust", **config)
    assert refused.code == 1
    assert "is damaged" in refused.err
    assert not (tmp_path / "into").exists()


def test_what_was_changed_is_named_and_nothing_is_placed(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    """In a payload, in a file, and in the name of the signature, of a bundle that is trusted."""
    file, changed, into = tmp_path / "b.torchcache", tmp_path / "c.torchcache", tmp_path / "into"
    assert tk("export", kept_291, "-o", file, "--filter", "sin_matmul", "--sign", key,
              "--allow-secrets",
              **config).code == 0  # fmt: skip
    assert tk("signers", "add", "us", f"{key}.pub", **config).code == 0
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        listed = [*manifest.begin(archive.read("manifest.json")).entries]
    graph = next(one.key for one in listed if one.kind == "fxgraph")
    code = next(one for one in listed if one.kind == "code")
    source = code.files[0].path
    places = {
        f"fxgraph {graph}": 50_000,
        f"code {code.key} ({source})": whole.index(source.encode()) + len(source) + 40,
        "manifest.json.sif": whole.rindex(b"manifest.json.sig") + 16,
    }
    for part, place in places.items():
        data = bytearray(whole)
        data[place] ^= 1
        changed.write_bytes(data)
        runs: list[tuple[object, ...]] = [("import", changed, "--into", into)]
        if part.startswith("code"):
            # These two have not looked at it before they ask an engine.
            runs += [("copy", changed, into, "--trust")]
            runs += [("verify", changed, "--quick", "--trust", "--env", sys.executable)]
        for run in runs:
            ran = tk(*run, **config)
            assert (ran.code, part in ran.err) == (1, True), (run, ran.err)
            assert not into.exists(), run


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["signers", "add", "two words", "{key}.pub"], 2, "cannot be the name"),
        (["signers", "add", "us", "{key}"], 2, "private key, which nobody else may see"),
        (["signers", "add", "us", "/nowhere.pub"], 2, "No such file"),
        (["signers", "add", "us", "ssh-ed25519 AAAA"], 2, "no public key"),
        (["signers", "remove", "nobody"], 2, "There is no signer nobody"),
        (["sign", "{bundle}", "--key", "/nowhere"], 2, "There is no such file"),
        (["sign", "{bundle}", "--key", "{bundle}"], 1, "could not be signed"),
        (["sign", "{key}", "--key", "{key}"], 1, "neither a bundle"),
        (["export", "{place}", "-o", "{bundle}", "--sign", "/nowhere"], 2, "There is no such file"),
    ],
)
def test_bad_input(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path,
    arguments: list[str], code: int, said: str,
) -> None:  # fmt: skip
    bundle = tmp_path / "b.torchcache"
    assert tk("export", "--allow-secrets", kept_291, "-o", bundle, "--filter", "kind:pgo").code == 0
    before = bundle.read_bytes()
    names = {"key": str(key), "bundle": str(bundle), "place": str(kept_291)}
    ran = tk(*(one.format(**names) for one in arguments), **config)
    assert (ran.code, said in ran.err) == (code, True), ran.err
    assert bundle.read_bytes() == before


@pytest.mark.slow
def test_where_signing_fails_nothing_takes_the_place_of_what_is_there(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    locked, file = tmp_path / "locked", tmp_path / "out" / "b.torchcache"
    how = ["-q", "-t", "ed25519", "-N", "secret"]
    subprocess.run(["ssh-keygen", *how, "-f", locked], check=True)
    file.parent.mkdir()
    what = ("export", kept_291, "-o", file, "--filter", "kind:pgo")
    assert tk(*what, "--sign", key, **config).code == 0
    before = file.read_bytes()
    failed = tk(*what, "--sign", locked, DISPLAY="", SSH_ASKPASS_REQUIRE="never", **config)
    assert (failed.code, "could not be signed" in failed.err) == (1, True)
    assert file.read_bytes() == before
    assert tk(*what, "--sign", key, "--no-clobber", **config).code == 1
    assert tk("export", kept_291, "-o", tmp_path, "--sign", key, **config).code == 1
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_of_a_link_the_file_is_signed(
    tk: Tk, kept_291: Path, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    file, link = tmp_path / "b.torchcache", tmp_path / "link.torchcache"
    assert tk("export", kept_291, "-o", file, "--filter", "kind:pgo").code == 0
    link.symlink_to(file.name)
    assert tk("sign", link, "--key", key, **config).code == 0
    assert link.is_symlink()
    signature = tk("inspect", file, "--json", **config).result["signature"]
    assert signature["status"] == "unknown"


def test_a_file_of_signers_that_others_wrote_is_kept(
    tk: Tk, key: Path, config: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "config" / "torchkeeper" / "allowed_signers"
    file.parent.mkdir(parents=True)
    public = key.with_suffix(".pub").read_text().split()[:2]
    lines = ["# ours", f"*@example.org cert-authority {' '.join(public)}", ""]
    file.write_text("\n".join(lines))
    assert tk("signers", "add", "me", " ".join(public), **config).code == 0
    assert file.read_text().splitlines()[:2] == lines[:2]
    again = tk("signers", "add", "me", " ".join(public), **config)
    assert (again.code, "already" in again.err) == (1, True)
    listed = tk("signers", "list", "--json", **config).result["signers"]
    assert [one["name"] for one in listed] == ["*@example.org", "me"]
    assert json.loads(tk("signers", "remove", "me", "--json", **config).out)["result"]["removed"]
    assert len(file.read_text().splitlines()) == 2
    # Several names in one line, as ssh-keygen has it; and a pattern that one of them fits.
    file.write_text(f"*@example.org {' '.join(public)}\nme,you@example.org {' '.join(public)} x\n")
    removed = tk("signers", "remove", "you@example.org", "--json", **config).result
    assert [one["name"] for one in removed["removed"]] == ["me,you@example.org"]
    assert [one["name"] for one in removed["still"]] == ["*@example.org"]
    assert file.read_text().splitlines()[1] == f"me {' '.join(public)} x"
