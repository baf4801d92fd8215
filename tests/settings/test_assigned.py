"""What a source does to settings, read and not run; hostile sources among them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pace import LONG
from tests.settings.secrets import FORMS, MARK, PASSWORDS
from torchkeeper.settings.assigned import HOWS, Assigned, Unreadable, look
from torchkeeper.settings.known import BY_NAME

FX, FOLDER = "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_CACHE_DIR"
MASTER, URL = "TORCHINDUCTOR_FORCE_DISABLE_CACHES", "TORCHINDUCTOR_REDIS_URL"

ONES = {
    "import torch\ntorch._inductor.config.fx_graph_cache = False": (FX, "assigned", "0"),
    "import torch._inductor.config as c\nc.fx_graph_cache = True": (FX, "assigned", "1"),
    "import torch._inductor.config\ntorch._inductor.config.fx_graph_cache: bool = 0": (
        FX, "assigned", "0",
    ),
    "from torch._inductor import config\nconfig.fx_graph_cache = False": (FX, "assigned", "0"),
    "from torch._inductor import config as x\ny = x\ny.fx_graph_cache = 0": (FX, "assigned", "0"),
    "from torch import _inductor\nsetattr(_inductor.config, 'fx_graph_cache', 0)": (
        FX, "assigned", "0",
    ),
    "import torch\nON = True\ntorch._inductor.config.fx_graph_cache, _ = ON, 2": (
        FX, "assigned", "1",
    ),
    "import importlib\nc = importlib.import_module('torch._inductor.config')\n"
    "c.fx_graph_cache = None": (FX, "assigned", None),
    "import torch\ntorch.compiler.config.force_disable_caches = True": (MASTER, "assigned", "1"),
    "import torch\ntorch._inductor.config.force_disable_caches = True": (MASTER, "assigned", "1"),
    "import torch\ntorch._dynamo.config.caching_precompile = True": (
        "TORCH_CACHING_PRECOMPILE", "assigned", "1",
    ),
    "from torch._inductor import config\nwith config.patch(fx_graph_cache=False): pass": (
        FX, "patched", "0",
    ),
    "from torch._inductor import config\n@config.patch({'fx_graph_cache': False})\ndef f(): 0": (
        FX, "patched", "0",
    ),
    "from torch._inductor import config\nconfig.patch('fx_graph_cache', False)": (
        FX, "patched", "0",
    ),
    "from torch._inductor import config\nconfig.patch(**dict(fx_graph_cache=False))": (
        FX, "patched", "0",
    ),
    "import torch\nm = torch.compile(f, options={'fx-graph-cache': False})": (FX, "options", "0"),
    "import torch\n@torch.compile(options=dict(fx_graph_cache=True))\ndef f(): 0": (
        FX, "options", "1",
    ),
    "import os\nos.environ['TORCHINDUCTOR_CACHE_DIR'] = '/x'": (FOLDER, "variable", "/x"),
    "import os as o\no.environb[b'TORCHINDUCTOR_CACHE_DIR'] = b'/x'": (FOLDER, "variable", "/x"),
    "from os import environ\nenviron['TORCHINDUCTOR_CACHE_DIR'] = '/x'": (FOLDER, "variable", "/x"),
    "import os\nos.environ.setdefault('TORCHINDUCTOR_CACHE_DIR', '/x')": (
        FOLDER, "variable-default", "/x",
    ),
    "import os\nos.environ.update(TORCHINDUCTOR_CACHE_DIR='/x')": (FOLDER, "variable", "/x"),
    "import os\nos.environ.update({'TORCHINDUCTOR_CACHE_DIR': '/x'})": (FOLDER, "variable", "/x"),
    "import os\nos.environ |= {'TORCHINDUCTOR_CACHE_DIR': '/x'}": (FOLDER, "variable", "/x"),
    "import os\nNAME = 'TORCHINDUCTOR_CACHE_DIR'\nos.environ[NAME] = '/x'": (
        FOLDER, "variable", "/x",
    ),
    "import os\nos.putenv('TORCHINDUCTOR_CACHE_DIR', '/x')": (FOLDER, "variable", "/x"),
    "import os\ndel os.environ['TORCHINDUCTOR_CACHE_DIR']": (FOLDER, "unset", None),
    "import os\nos.environ.pop('TORCHINDUCTOR_CACHE_DIR', None)": (FOLDER, "unset", None),
    "import os, unittest.mock\nwith unittest.mock.patch.dict(os.environ, "
    "{'TORCHINDUCTOR_CACHE_DIR': '/x'}): pass": (FOLDER, "variable", "/x"),
    "import triton\ntriton.knobs.cache.dir = '/k'": ("TRITON_CACHE_DIR", "assigned", "/k"),
    "from triton import knobs\nknobs.redis.port = 1": ("TRITON_REDIS_PORT", "assigned", "1"),
}  # fmt: skip


@pytest.mark.parametrize("source", ONES)
def test_every_way_to_set_one(source: str) -> None:
    found = look(source.encode()).assigned
    assert [(one.name, one.how, one.value) for one in found] == [ONES[source]]
    assert not found[0].computed


@pytest.mark.parametrize(
    "value", ["os.path.join('a', 'b')", "f'{x}/y'", "CHANGED", "input()", "...", "1 if x else 2"]
)
def test_what_it_comes_to_may_not_stand_there(value: str) -> None:
    source = f"import os\nCHANGED = '1'\nCHANGED = '2'\nos.environ['{FOLDER}'] = {value}"
    (one,) = look(source.encode()).assigned
    assert (one.value, one.computed) == (None, True)


def test_what_is_sure_and_what_depends() -> None:
    source = """if True:
        import os
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/maybe"
import torch
from torch._inductor import config
config.fx_graph_cache = False
with torch.no_grad():
    config.fx_graph_cache = True
def later():
    config.fx_graph_cache = False
class Here:
    config.fx_graph_cache = True
if __name__ == "__main__":
    config.fx_graph_cache = False
"""
    as_main = [(one.line, one.top, one.late) for one in look(source.encode(), main=True).assigned]
    late = [(6, True), (8, True), (10, False), (12, True), (14, True)]
    assert as_main == [(3, False, False), *((line, top, True) for line, top in late)]
    assert not look(source.encode()).assigned[-1].top


def test_a_password_is_not_told() -> None:
    source = f"import os\nos.environ['{URL}'] = 'redis://user:s3cret@host:1/0'"
    (one,) = look(source.encode()).assigned
    assert one.value == "redis://user:…@host:1/0"


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_long_password_is_not_told(password: str) -> None:
    """It is hidden before the text is cut."""
    for form in FORMS:
        source = f"import os\nos.environ['{URL}'] = {form.replace('{}', password)!r}"
        (one,) = look(source.encode()).assigned
        assert MARK not in str(one)
    folder = "/" + "x" * 1000
    (one,) = look(f"import os\nos.environ['{FOLDER}'] = '{folder}'".encode()).assigned
    assert one.value == folder


def test_others_of_these_names_are_not_meant() -> None:
    source = b"""from mine import config
config.fx_graph_cache = False
environ = {}
environ["TORCHINDUCTOR_CACHE_DIR"] = "/x"
torch.config.fx_graph_cache = 1
"""
    assert look(source).assigned == ()


HOSTILE = {
    "nested": b"(" * 100_000,
    "lists": b"[" * 300 + b"]" * 300,
    "a sum": b"1" + b"+1" * 50_000,
    "signs": b"-" * 200_000 + b"1",
    "dots": b"a" + b".b" * 200_000,
    "calls": b"f" + b"()" * 100_000,
    "comparison": b"a" + b"<a" * 20_000,
    "blocks": b"".join(b" " * n + b"if 1:\n" for n in range(150)),
    "a zero byte": b"import torch\0",
    "zero bytes": b"\0" * 1000,
    "no text": bytes(range(256)) * 100,
    "an encoding that is none": b"# coding: \xff\nx = 1",
    "another that is none": b"# coding: zip\nx = 1",
    "a byte order mark": b"\xff\xfex\0",
    "a number": b"x = " + b"9" * 20_000,
    "a big number": b"import torch\ntorch._inductor.config.fx_graph_cache = 0x" + b"f" * 20_000,
    "strings": b"f'{f'{f'{" * 100,
    "half a surrogate": b"import os\nos.environ['TORCHINDUCTOR_CACHE_DIR'] = '\\ud800'",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sources(name: str) -> None:
    """In a process of its own: none may end it."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from torchkeeper.settings.assigned import look, Unreadable\n"
        "try: print(len(look(sys.stdin.buffer.read()).assigned))\n"
        "except Unreadable as why: print(why)"
    )
    app = str(Path(__file__).parents[2] / "app")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", script, app],
        input=HOSTILE[name], capture_output=True, check=False, timeout=LONG,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.strip() in (b"0", b"1", b"not-python", b"too-deep")


def checked(source: bytes) -> None:
    try:
        found = look(source)
    except Unreadable as why:
        assert str(why) in ("not-python", "too-deep")
        return
    for one in found.assigned:
        assert isinstance(one, Assigned)
        assert one.name in BY_NAME
        assert one.how in HOWS
        assert one.value is None or one.value.encode() is not None


@given(st.binary(max_size=300))
def test_any_bytes(source: bytes) -> None:
    checked(source)


PIECES = st.sampled_from(
    [*"()[]{}=.,:*@\n \"'", "import ", "from ", " as ", "torch", "._inductor", ".config",
     ".fx_graph_cache", "os", ".environ", "TORCHINDUCTOR_CACHE_DIR", "patch", "**", "x", "1",
     "None", "lambda ", "def f(): ", "with ", "setattr", "update", "\n    ", "if ", "del ", "\0",
     "compile", "options", "\\", "-", "|=", "triton", ".knobs.cache.dir", "dict", "é", "\ud800"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40))
def test_anything_made_of_what_it_knows(pieces: list[str]) -> None:
    checked("".join(pieces).encode(errors="surrogatepass"))


def test_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "own.py").write_text(f"open({str(mark)!r}, 'w')")
    before, modules = dict(os.environ), set(sys.modules)
    source = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport own\nimport os\n"
        f"os.environ['{FOLDER}'] = str(open({str(mark)!r}, 'w'))\n"
        f"os.environ['{FX}'] = '0'\n"
    )
    assert len(look(source.encode()).assigned) == 2
    assert not mark.exists()
    assert dict(os.environ) == before
    assert set(sys.modules) == modules
