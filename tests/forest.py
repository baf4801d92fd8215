"""Ordinary projects, made up from a seed: what people have in a folder that is also a cache.

None of it was written by PyTorch, Triton or vLLM, however much a name looks like theirs.
"""

from __future__ import annotations

import os
import random
import string
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

#: Content by path; a text after ``->`` is where a symbolic link leads.
Files = dict[str, bytes]

_WORDS = ["report", "thesis", "data", "train", "model", "notes", "draft", "main", "index", "config",
          "results", "lock", "cache", "build", "dead", "beef", "cafe", "plan", "budget", "todo",
          "paper", "figures", "experiment", "weights", "kernel", "graph", "entry"]  # fmt: skip
#: Days for which nobody has touched any of it.
IDLE = 40


def _hex(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("0123456789abcdef", k=length))


def _base32(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz234567", k=length))


def _text(rng: random.Random) -> bytes:
    return (" ".join(rng.choices(_WORDS, k=rng.randint(3, 30))) + "\n").encode()


def _word(rng: random.Random) -> str:
    return rng.choice(_WORDS)


def _named(rng: random.Random, *paths: str) -> Files:
    return {path: _text(rng) for path in paths}


def _git(rng: random.Random) -> Files:
    found = _named(
        rng, ".git/HEAD", ".git/config", ".git/index", ".git/logs/HEAD", ".git/packed-refs",
        ".git/hooks/pre-commit", ".git/refs/heads/main", ".gitignore", ".gitattributes",
        f".git/objects/pack/pack-{_hex(rng, 40)}.idx", ".git/info/exclude", ".git/BISECT_LOG",
    )  # fmt: skip
    for _ in range(rng.randint(1, 6)):
        found[f".git/objects/{_hex(rng, 2)}/{_hex(rng, 38)}"] = b"x\x9c" + _text(rng)
    found[".git/index.lock"] = found[".git/refs/heads/main.lock"] = b""
    found[f".git/lfs/objects/{_hex(rng, 2)}/{_hex(rng, 2)}/{_hex(rng, 64)}"] = _text(rng)
    return found


def _hg(rng: random.Random) -> Files:
    return _named(
        rng, ".hg/00changelog.i", ".hg/dirstate", ".hg/store/data/main.py.i", ".hg/wlock",
        ".hg/store/lock", ".hg/undo.branch", ".hgignore", ".svn/wc.db", ".svn/tmp/a.tmp",
        f".svn/pristine/{_hex(rng, 2)}/{_hex(rng, 40)}.svn-base", ".jj/repo/store/type",
    )  # fmt: skip


def _node(rng: random.Random) -> Files:
    pool = "node_modules/.pnpm/node_modules"
    return _named(
        rng, "package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", ".npmrc",
        "node_modules/.package-lock.json", "node_modules/.bin/tsc",
        "node_modules/.yarn-integrity", f"node_modules/{_word(rng)}/index.js",
        f"{pool}/{_word(rng)}/lib/main.py", ".env", f"v3/files/{_hex(rng, 2)}/{_hex(rng, 126)}",
        f"v3/files/{_hex(rng, 2)}/{_hex(rng, 126)}-exec",
        f"_cacache/content-v2/sha512/{_hex(rng, 2)}/{_hex(rng, 2)}/{_hex(rng, 124)}",
        f"_cacache/tmp/{_hex(rng, 8)}", ".next/cache/webpack/0.pack", "dist/bundle.min.js",
        f".parcel-cache/{_hex(rng, 16)}", f".turbo/cache/{_hex(rng, 16)}.tar.zst",
    )  # fmt: skip


def _python(rng: random.Random) -> Files:
    return _named(
        rng, ".venv/bin/python", ".venv/pyvenv.cfg", ".venv/.lock", "setup.py", "pyproject.toml",
        ".venv/lib/python3.11/site-packages/torch/_inductor/codecache.py", "poetry.lock",
        "uv.lock", f"src/__pycache__/{_word(rng)}.cpython-311.pyc",
        ".pytest_cache/v/cache/lastfailed", f".mypy_cache/3.11/{_word(rng)}.data.json",
        ".ruff_cache/0.6/123", ".coverage", ".tox/.pkg",
        f"http-v2/{'/'.join(_hex(rng, 5))}/{_hex(rng, 56)}", "selfcheck/a.json",
        ".python-version",
        f"wheels/{_hex(rng, 2)}/{_hex(rng, 2)}/{_hex(rng, 60)}/x-1-py3-none-any.whl",
        f"build/temp.linux-x86_64-3.11/{_word(rng)}.o",
        f"{_word(rng)}.cpython-311-x86_64-linux-gnu.so",
    )  # fmt: skip


def _latex(rng: random.Random) -> Files:
    name = _word(rng)
    found = _named(rng, *(f"{name}.{end}" for end in (
        "tex", "aux", "log", "bbl", "toc", "out", "fls", "fdb_latexmk", "synctex.gz", "pdf",
        "synctex(busy)", "bib", "run.xml", "tmp", "lock",
    )))  # fmt: skip
    found[f"{name}.auctex-auto/{name}.el"] = found[f"_minted-{name}/{_hex(rng, 32)}.pygtex"] = b"%"
    return found


def _editors(rng: random.Random) -> Files:
    name = _word(rng)
    found = _named(
        rng, f".{name}.py.swp", f".{name}.py.swo", f"{name}.py~", f"#{name}.py#", "4913",
        f".~lock.{name}.odt#", f"~${name}.docx", f"{name}.docx", ".idea/workspace.xml",
        ".DS_Store", ".vscode/settings.json", f".ipynb_checkpoints/{name}-checkpoint.ipynb",
        f"{name}.ipynb", ".ssh/id_ed25519", ".gnupg/private-keys-v1.d/a.key", ".config/x/y.toml",
        "Thumbs.db", f".{name}.tmp", f".{name}.lock", f"tmp.{name}.csv", f"{name}.tmp",
        f"{name}.lock", f".{rng.randint(1, 9999)}.tmp", f".nfs{_hex(rng, 24)}",
        f".{name}.kate-swp", ".bash_history", f".goutputstream-{name}",
        f".fuse_hidden{_hex(rng, 16)}", f".#{name}.lock", "lock", "tmp",
    )  # fmt: skip
    found[f".#{name}.py->me@host.1234:5678"] = b""
    return found


def _builds(rng: random.Random) -> Files:
    return _named(
        rng, "target/debug/.cargo-lock",
        f"target/debug/deps/lib{_word(rng)}-{_hex(rng, 16)}.rlib",
        f"target/debug/.fingerprint/x-{_hex(rng, 16)}/invoked.timestamp", "Cargo.lock", "go.sum",
        "build/CMakeCache.txt", "build/CMakeFiles/x.dir/a.cpp.o", "build/.ninja_lock", "Makefile",
        f"build/{_word(rng)}.so", "autom4te.cache/output.0", "config.log", "a.out", "core.1234",
        f"{_hex(rng, 1)}/{_hex(rng, 1)}/{_base32(rng, 28)}R", f"{_hex(rng, 1)}/stats.lock",
        f"build/{_word(rng)}_CxxBuild/a.o", f".gradle/{_word(rng)}.lock", "bazel.lock",
        f"ab/{_word(rng)}.tmp", f"{_base32(rng, 2)}/{_word(rng)}.py", f"v2/lib{_word(rng)}.so",
    )  # fmt: skip


def _learning(rng: random.Random) -> Files:
    model, sha = f"models--{_word(rng)}--{_word(rng)}", _hex(rng, 40)
    run = f"wandb/run-20260101_010203-{_base32(rng, 8)}"
    found = _named(
        rng, f"{model}/refs/main", f"{model}/blobs/{_hex(rng, 64)}",
        f"{model}/blobs/{_hex(rng, 40)}", f"{model}/blobs/{_hex(rng, 64)}.incomplete",
        f"{model}/snapshots/{sha}/config.json", f"{run}/run-x.wandb", f"{run}/files/output.log",
        f"{run}/tmp/code/main.py", "wandb/debug.log", f"mlruns/0/{_hex(rng, 32)}/meta.yaml",
        f"mlruns/0/{_hex(rng, 32)}/artifacts/model/MLmodel",
        f".dvc/cache/files/md5/{_hex(rng, 2)}/{_hex(rng, 30)}", ".dvc/tmp/rwlock",
        ".dvc/tmp/lock", "tmp.weights.pt", "weights.pt", "model", "model.safetensors",
        f"ckpt/rank_{rng.randint(0, 7)}", f"ckpt/rank_0_{rng.randint(0, 7)}/optimizer.pt",
        f"rank_0_{rng.randint(0, 7)}/model", f"lightning_logs/version_0/{_word(rng)}.ckpt",
        f"outputs/2026-01-01/.hydra/{_word(rng)}.yaml",
        f"{_base32(rng, 2)}/eval_run_{rng.randint(0, 9)}/tensor_0.pt",
        f"exp_run_{rng.randint(0, 9)}/a", "unhashed_kernel_inputs/notes.txt",
        f"events.out.tfevents.{rng.randint(1, 10**9)}.host",
    )  # fmt: skip
    found[f".locks/{model}/{_hex(rng, 64)}.lock"] = b""
    return found


def _lookalikes(rng: random.Random) -> Files:
    """Names that look like a known writer's, of files that people have all the same."""
    key = "".join(rng.choices(string.ascii_uppercase + "234567", k=52))
    digest, name, stem = _hex(rng, 64), _word(rng), "c" + _base32(rng, 51)
    temporary = "tmp" + "".join(rng.choices(string.ascii_lowercase + "0123456789_", k=8))
    found = _named(
        rng, "locks/report.docx", f"locks/{name}.txt", f"locks/{name}.db",
        f"{temporary}/data.csv", f"{temporary}/{_hex(rng, 32)}", f"{temporary}/cache/{digest}",
        f"{temporary}.py", f"{temporary}.o.tmp", f"{temporary}/.git/HEAD", "bisect/good.txt",
        "bisect/inductor/notes.md", f"artifact_{name}", f"artifact_{name}/README",
        "computation_graph.py", "transformed_code.py", f"backbone/{name}.py",
        "src/computation_graph.py", "cache_key_factors.json", f"dynamo/{name}/{_word(rng)}",
        f"dynamo/{name}.pkl", f"dynamo/{digest}/notes", f"dynamo/{name}.pkl.tmp",
        f"fxgraph/{name}.py", f"fxgraph/ab/{name}/{_word(rng)}", f"aotautograd/{name}/entry",
        f"aotautograd/{name}.md", f"aoti_eager/runs/{name}/a.json",
        f"aoti_eager/runs/cpu/{name}.json", f"aoti_eager/{name}.json",
        f"precompiled_headers/{name}.h", f"precompiled_headers/{name}.h.gch",
        f"precompiled_headers/locks/{name}.txt", _hex(rng, 32), f"cache/{_hex(rng, 32)}",
        f"cache/{digest}", f"cache/{name}/{_hex(rng, 32)}", f"cache/{name}", f"{digest}/json",
        f"{digest}/VERSION", f"{digest}/layer.tar", f"{digest}/config.json",
        f"containers/{digest}/hostconfig.json", f"{digest}/kernel.cubin", f"{digest}/{name}.so",
        f"{key}/README.md", f"{key}/{name}.json", f"backups/{key}/k.cubin", f"triton/{name}.py",
        f"triton/0/{name}.json", f"triton/tmp.{uuid.UUID(_hex(rng, 32))}/{name}.txt",
        f"triton_cache/{name}.json", f"inductor_cache/{name}.py", f"modelinfos/{name}.json",
        f"configs_{_hex(rng, 8)}.json", "compiled_cache.db", "memoizer_cache.json",
        f"autoheuristic/{name}/notes.txt", f"halide-runtime-{name}/a",
        f"cutedsl_compile_cache/{name}.o", f"{stem[1:3]}/{stem}.py.bak",
        f"{stem[1:3]}/{stem}.py~", f"{stem[1:3]}/.{stem}.py.swp", f"{stem[1:3]}/{stem}",
        f"{name}/{stem}.py", f"{stem}.py", f"{stem[1:3]}/{stem}_mine.py",
        f"{stem[1:3]}/{stem}.debug/my notes.md", f"{stem[1:3]}/{stem}.main_CxxBuild/notes.md",
        f"rank_0_0/{name}.json", f"rank_0_0/backbone/{name}.py", f"torch_compile_cache/{name}",
        ".1.2.tmp", f"{name}/.1.2.tmp", f"tmp.pid_1_{uuid.UUID(_hex(rng, 32))}", "vllm/model",
        f"tmp.pid_12/{name}.json", f"{name}.best_config", f"{name}/code_state_{name}.pkl",
        f"{'k' * 42}A/{name}.json", f"{_base32(rng, 2)}/{'a' * 40}.py", "torch_cutlass/mine.py",
    )  # fmt: skip
    for path in (
        f"locks/{name}.lock", "locks/dead.lock", f"cache/{name}/dir.lock", "cache/dir.lock",
        "dir.lock", f"cache/{name}/locks/beef.lock", f"{name}.lock", f"locks/{_hex(rng, 4)}.lock",
    ):  # fmt: skip
        found[path] = b""
    found[f"locks/{stem}.lock"] = b"pid 1234\n"
    seconds = rng.randint(1_600_000_000, 1_800_000_000)
    saved = b"PK\x03\x04" + bytes(26) + b"model/data.pkl"
    found |= {
        # What others keep under digests, of their own shape.
        f"cache/{_hex(rng, 64)}": rng.choice(
            [b'{"cache": {"page": 1}}', b'{"system": "linux", "cache": []}']
        ),
        f"configs_{_hex(rng, 8)}.json": rng.choice([b'["{\\"lr\\": 1}"]', b"[]"]),
        f"dynamo/{_hex(rng, 64)}/{rng.choice(['entry', 'dynamo', 'backends'])}": b"a row\n",
        f"{_hex(rng, 64)}/rank_0_{rng.randint(0, 7)}/model": rng.choice(
            [saved, b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", b"\x80\x04]."]
        ),
        f"{_hex(rng, 64)}/{name}.{rng.choice(['ttir', 'llir', 'amdgcn', 'hsaco'])}": _text(rng),
        f"{_hex(rng, 64)}/rank_0_0/model.{rng.randint(1, 9999)}.tmp": _text(rng),
        f"{_hex(rng, 64)}/{name}.autotune.json": b'{"mine": 1}',
        f"{_hex(rng, 64)}/{rng.choice(['cpu', 'driver'])}_utils.so": b"\x7fELF\x02",
        f"override/{_hex(rng, 64)}/{name}.ttgir": _text(rng),
        f"autoheuristic/{name}/{_word(rng)}.txt": b"{ what I measured }\n",
        "modelinfos/vllm-model_executor-models-mine.json": b'{"mine": 1}',
        "gpu_p2p_access_cache_for_0,1.json": b'{"mine": 1}',
        f"{name}/rank_0_0/cache_key_factors.json": b'{"mine": 1}',
        f"{name}/rank_0_0/vllm_compile_cache.py": b"{}\n",
        f"{name}/rank_0_0/transformed_code.py": b"pass\n",
        # Atomic writers that name their files by process and time.
        f"{_base32(rng, 2)}/.{rng.randint(1, 99999)}.{seconds}.tmp": b"x",
        f"cache/.{rng.randint(1, 99999)}.{seconds * 1000}.tmp": b"x",
        "bisect/bisect_status.txt": b"all good so far\n",
        f"bisect/eager/{name}_config.txt": b"lr=1\n",
        "bisect/inductor/lowerings_run_state.txt": b"seems bad\n",
    }
    return found


_MAKERS: tuple[Callable[[random.Random], Files], ...] = (
    _git, _hg, _node, _python, _latex, _editors, _builds, _learning, _lookalikes,
)  # fmt: skip
#: Where in a cache a project may lie: in its root, beside it, or in folders of its own.
_PLACES = (
    "", "", "work", "src/deep/er", "fxgraph", "aotautograd", "dynamo", "locks", "triton",
    "triton/0", "cache", "cache/mine", "aoti_eager", "precompiled_headers", "bisect", "ab",
    "tmpabcdefgh", "rank_0_0", "rank_0_0/backbone", "inductor_cache", "triton_cache",
    "torch_compile_cache", "modelinfos", ".cache", "unhashed_kernel_inputs", "k" * 52, "A" * 52,
    "c" + "a" * 51, f"fxgraph/aa/f{'a' * 51}", f"aotautograd/a{'b' * 51}", f"triton/0/{'A' * 52}",
    "0a" * 32,
)  # fmt: skip


def projects(count: int, seed: int = 22) -> Iterator[Files]:
    """So many projects, each of one to three of the things people do, somewhere in a cache."""
    rng = random.Random(seed)
    for number in range(count):
        files: Files = {}
        for make in rng.sample(_MAKERS, rng.choice((1, 1, 2))):
            files |= make(rng)
        place = _PLACES[number % len(_PLACES)]
        # In the root itself, or beside others.
        own = f"p{number}" if rng.random() < 0.4 else ""
        above = "/".join(part for part in (place, own) if part)
        yield {f"{above}/{path}" if above else path: data for path, data in files.items()}


def plant(root: Path, count: int, seed: int = 22) -> list[str]:
    """Write projects into a folder, beside what is there; the paths of their files."""
    planted: list[str] = []
    for files in projects(count, seed):
        for path, data in files.items():
            name, _, link = path.partition("->")
            at = root / name
            if any(above.is_file() or above.is_symlink() for above in at.parents) or at.is_dir():
                continue
            if at.exists() or at.is_symlink():
                continue
            at.parent.mkdir(parents=True, exist_ok=True)
            if link:
                at.symlink_to(link)
            else:
                at.write_bytes(data)
            planted.append(name)
    return planted


def grow_old(root: Path) -> None:
    """As if nobody had touched anything for long."""
    then = time.time() - IDLE * 86_400
    for folder, folders, files in os.walk(root):
        for name in [*files, *folders]:
            os.utime(os.path.join(folder, name), (then, then), follow_symlinks=False)
    os.utime(root, (then, then))
