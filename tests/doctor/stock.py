"""Stock PyTorch, imported once: each line names variables and what to compile, and a fork of this
process does that as a program would that was started with them.

What torch imports for its first compile is imported before: what it reads of variables then, is
what this process was started with; folders and servers it reads later. Prints a line for each:
{"ok", "error", "counters", "log"}.
"""

import contextlib
import json
import os
import sys
import tempfile
from typing import Any

import torch
import torch._dynamo
import torch._functorch._aot_autograd.autograd_cache
import torch._inductor.compile_fx
import torch._inductor.remote_cache


def compiled(what: str) -> dict[str, Any]:
    """Compile and run one of two things; ``mm`` needs no C++ compiler, ``sin`` does."""
    if what == "mm":
        torch.compile(lambda x, y: x @ y)(torch.rand(4, 4), torch.rand(4, 4))
    else:
        torch.compile(lambda x: x.sin() + 1)(torch.rand(64))
    return dict(torch._dynamo.utils.counters["inductor"])


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryFile("w+") as log:
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.dup2(log.fileno(), 2)
                os.dup2(log.fileno(), 1)
                os.environ.update(asked["env"])
                tempfile.tempdir = None
                try:
                    said = {"ok": True, "error": "", "counters": compiled(asked["what"])}
                except BaseException as e:  # noqa: BLE001
                    said = {"ok": False, "error": f"{type(e).__name__}: {e}", "counters": {}}
                with contextlib.suppress(OSError):
                    os.write(write, json.dumps(said).encode())
                os._exit(0)
            os.close(write)
            with os.fdopen(read) as pipe:
                text = pipe.read()
            os.waitpid(pid, 0)
            log.seek(0)
            said = json.loads(text) if text else {"ok": False, "error": "died", "counters": {}}
            answers.write(json.dumps({**said, "log": log.read()}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
