"""A bundle that is signed before it has a name."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.client.engines.process import Engine
from torchkeeper.client.signers import sign
from torchkeeper.client.words.problems import UserError


def test_it_has_no_name_until_it_is_signed(kept_291: Path, tmp_path: Path) -> None:
    key, folder = tmp_path / "key", tmp_path / "folder"
    folder.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    output = folder / "o.torchcache"
    select = {"filter": "kind:pgo"}

    def export(engine: Engine) -> None:
        asked = {"place": str(kept_291), "output": str(output), "select": select, "sign": True}
        assert engine.call("export", asked)["held"]
        assert list(folder.iterdir()) == []

    with Engine() as engine:

        def ask(op: str, **params: object) -> Any:
            return engine.call(op, params)

        export(engine)
        sign(ask, "", str(key), str(output))
        assert [path.name for path in folder.iterdir()] == ["o.torchcache"]
        assert ask("signature", file=str(output))["status"] == "unknown"
        with pytest.raises(UserError, match="no file"):
            sign(ask, "", str(key), str(output))
        output.unlink()
        export(engine)
        export(engine)  # the one before is let go of
        os.kill(engine.pid, signal.SIGKILL)
    assert list(folder.iterdir()) == []
    with Engine() as engine:
        export(engine)
    assert list(folder.iterdir()) == []
