"""Secrets and the command line; and that stock PyTorch takes what was redacted."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.conftest import RunPlain, objects_of
from torchkeeper.artifacts.layout import payload_name

PASSWORD = "hunter2-not-a-real-password"
#: One for which there is room where another text was.
SHORT = "S3cr3t-7x7"


def test_a_secret_blocks_and_says_where_and_what_to_do(
    tk: Tk, kept_291: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.torchcache"
    ran = tk("export", kept_291, "-o", bundle)
    assert ran.code == 1
    assert "secret: the password in a redis address in fxgraph f3jp4pgmoe4" in ran.err
    assert "byte 4,205: redis://:…@127.0.0.1" in ran.err
    assert "private: 1 source file with its lines: /srv/train/make_cache.py (8 entries)" in ran.err
    assert "--redact" in ran.err
    assert not bundle.exists()
    foretold = tk("export", kept_291, "-o", bundle, "--dry-run")
    assert foretold.code == 1
    assert "secrets were found" in foretold.err
    said = tk("copy", kept_291, bundle, "--json")
    assert (said.code, len(said.objects[-2]["leaks"]["found"])) == (1, 7)
    assert said.objects[-1]["error"]["code"] == "secrets-found"
    assert PASSWORD not in ran.out + ran.err + foretold.out + foretold.err + said.out + said.err


@pytest.mark.slow
def test_each_choice_is_one_of_three(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.torchcache"
    redacted = tk("export", kept_291, "-o", bundle, "--redact", "--json")
    assert (redacted.code, redacted.result["entries"]) == (0, 44)
    assert redacted.result["leaks"]["redacted"] == len(redacted.result["leaks"]["found"]) == 7
    assert PASSWORD.encode() not in bundle.read_bytes()
    without = tk("copy", kept_291, tmp_path / "w.torchcache", "--without-secrets", "--json")
    assert (without.code, without.result["entries"]) == (0, 37)
    allowed = tk("export", kept_291, "-o", bundle, "--allow-secrets")
    assert allowed.code == 0
    assert PASSWORD.encode() in bundle.read_bytes()
    inside = tk("inspect", bundle)
    assert "secret: the password in a redis address" in inside.err
    assert "43 classes and functions, all of which PyTorch uses" in inside.out
    told = tk("inspect", bundle, "--json").result
    assert (told["leaks"]["entries"], told["runnable"]["strange"]) == (7, 0)
    assert tk("export", kept_291, "-o", bundle, "--redact", "--allow-secrets").code == 2


def test_private_facts_never_change_the_exit_code(tk: Tk, filled: Path, tmp_path: Path) -> None:
    ran = tk("export", filled, "-o", tmp_path / "b.torchcache")
    assert ran.code == 0
    assert "plain_script.py" in ran.err


def planted(cache: Path) -> None:
    """Have every graph record a secret where torch wrote down its environment, and nothing else
    another: as if the folder of the cache had had another name.
    """
    for path in [p for p in (cache / "fxgraph").rglob("*") if p.is_file()]:
        data = path.read_bytes()
        before, line, after = data.partition(b"os.environ['TORCHINDUCTOR_CACHE_DIR'] = '")
        assert line
        old, quote, rest = after.partition(b"'")
        secret = b"redis://:" + SHORT.encode() + b"@c/"
        assert len(old) >= len(secret)
        made = before + line + secret.ljust(len(old), b"0") + quote + rest
        path.unlink()
        (path.parent / payload_name(hashlib.sha256(made).hexdigest())).write_bytes(made)


def carried(tk: Tk, cache: Path, tmp_path: Path) -> Path:
    """The cache as it is after it went through a redacted bundle."""
    bundle, back = tmp_path / "b.torchcache", tmp_path / "back"
    assert tk("export", cache, "-o", bundle).code == 1
    assert tk("export", cache, "-o", bundle, "--redact").code == 0
    data = bundle.read_bytes()
    assert not any(secret.encode() in data for secret in (PASSWORD, SHORT))
    assert tk("import", bundle, "--into", back, "--trust").code == 0
    return back


@pytest.mark.torch
@pytest.mark.slow
def test_stock_torch_hits_what_was_redacted(
    tk: Tk, warm_cache: Path, tmp_path: Path, run_plain: RunPlain
) -> None:
    planted(warm_cache)
    back = carried(tk, warm_cache, tmp_path)
    counters = run_plain(back)
    assert (counters["misses"], counters["aot_misses"]) == (0, 0)
    assert counters["hits"] + counters["aot_hits"] > 0


@pytest.mark.torch
@pytest.mark.slow
def test_stock_torch_hits_what_it_recorded_a_password_in(
    tk: Tk, filled: Path, tmp_path: Path, run_plain: RunPlain
) -> None:
    """Nobody answers at the server; torch goes on without it, and writes its address down."""
    cache = tmp_path / "cache"
    objects_of(filled, cache)
    url = f"redis://:{PASSWORD}@127.0.0.1:1/0"
    assert run_plain(cache, redis=url)["misses"] > 0
    graphs = [p for p in (cache / "fxgraph").rglob("*") if p.is_file()]
    assert all(PASSWORD.encode() in p.read_bytes() for p in graphs)
    counters = run_plain(carried(tk, cache, tmp_path))
    assert (counters["misses"], counters["aot_misses"]) == (0, 0)
    assert counters["hits"] > 0


def test_import_lists_what_would_run_and_points_out_what_pytorch_never_writes(
    tk: Tk, tmp_path: Path
) -> None:
    hostile = b"\x80\x04}\x8c\x01a\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85Rs."
    (tmp_path / "c" / "dynamo").mkdir(parents=True)
    (tmp_path / "c" / "dynamo" / "code_state_job_0_.pkl").write_bytes(hostile)
    bundle = tmp_path / "b.torchcache"
    assert tk("export", tmp_path / "c", "-o", bundle).code == 0
    ran = tk("import", bundle, "--into", tmp_path / "into")
    assert ran.code == 2
    assert "  runs     pgo: 1 pickle\n" in ran.out
    assert "1 of which PyTorch never uses: os.system (pgo job_0_)" in ran.out
    assert "PyTorch never writes what is named here: os.system." in ran.err
    assert not (tmp_path / "into").exists()
    told = tk("import", bundle, "--into", tmp_path / "into", "--dry-run", "--json").result
    assert told["compared"][0]["runnable"]["strange"] == 1


def test_what_stays_anyhow_is_searched_neither_before_nor_while_writing(
    tk: Tk, tmp_path: Path
) -> None:
    place, stem = tmp_path / "place", f"cab{'q' * 49}"
    for folder, text in (("ab", "pass"), ("inductor_cache/ab", f"URL = 'redis://:{SHORT}@h/0'")):
        (place / folder).mkdir(parents=True)
        (place / folder / f"{stem}.py").write_text(f"import torch\n{text}\n")
    # Both would have one home in a bundle, and only the first goes.
    for more in (("--dry-run",), ()):
        ran = tk("export", place, "-o", tmp_path / "b.torchcache", *more, "--json")
        assert (ran.code, ran.result["entries"]) == (0, 1), ran.err
        assert (ran.result["leaks"]["secrets"], len(ran.result["left"])) == (0, 1)
    assert SHORT.encode() not in (tmp_path / "b.torchcache").read_bytes()
