"""The wire: an engine that is asked nonsense, and an app that is told nonsense."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.hostile import bundles, messages
from tests.hostile.running import Run
from tests.hostile.tripwires import MOST_MEMORY, Arena, memory_bounded, peak_of
from tests.pace import LONG
from torchkeeper.artifacts.entry import entry_from_json
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol

_BOOT = """if True:
    import sys
    from pathlib import Path
    from tests.hostile.tripwires import guard
    from torchkeeper.engine.serve import main
    guard(Path(sys.argv[1]), sys.argv[2:])
    main()
"""
#: Seconds for an answer on a busy machine.
_PATIENCE = LONG


class Asked:
    """A real engine with the watch in it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._lines = protocol.Lines()
        self._waiting: list[protocol.Message] = []

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self) -> protocol.Message:
        """The next result or error."""
        assert self.process.stdout
        until = time.monotonic() + _PATIENCE
        while True:
            while self._waiting:
                message = self._waiting.pop(0)
                if message.type in ("result", "error"):
                    return message
            assert time.monotonic() < until, "it does not answer"
            if select.select([self.process.stdout], [], [], 1.0)[0]:
                data = os.read(self.process.stdout.fileno(), 1 << 18)
                assert data, f"it has ended with {self.process.wait()}"
                found = self._lines.feed(data)
                self._waiting += [protocol.message_from(protocol.decode(one)) for one in found]


@contextmanager
def engine(arena: Arena) -> Iterator[Asked]:
    for folder in ("tmp", "home"):
        (arena.inside / folder).mkdir()
    # In the last one it notes what it has begun.
    allowed = [str(arena.inside), str(arena.target), "/dev/null", str(arena.state)]
    env = {**os.environ, "TMPDIR": str(arena.inside / "tmp"), "HOME": str(arena.inside / "home")}
    root = str(Path(__file__).parents[2])
    with (arena.inside / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", _BOOT, str(arena.root), *allowed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=arena.inside,
            env={**env, "PYTHONPATH": root},
        )
    try:
        with memory_bounded(process.pid):
            yield Asked(process)
        assert process.poll() is None, (arena.inside / "log").read_text()[-2000:]
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe
            pipe.close()


def places(arena: Arena) -> list[str]:
    """Folders, files, links and pipes, all of them in one folder."""
    root = arena.inside / "places"
    root.mkdir()
    said, others = bundles.members(str(arena.trip / "x"))
    data = bundles.whole(said, others)
    (root / "bundle.torchcache").write_bytes(data)
    (root / "damaged.torchcache").write_bytes(data[:-100])
    (root / "text").write_text("x")
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    (root / "link").symlink_to(".")
    (root / "zero").symlink_to("/dev/zero")
    names = ("bundle.torchcache", "damaged.torchcache", "text", "pipe", "loop", "link", "zero",
             "missing", "cache", "../escape", "link/link/cache")  # fmt: skip
    return [str(root), *(f"{root}/{name}" for name in names)]


def test_requests(run: Run, arena: Arena) -> None:
    where = places(arena)
    with engine(arena) as asked:
        numbers = iter(range(1, 1 << 30))

        def check(made: tuple[Random, int]) -> None:
            ident = next(numbers)
            line, typed = messages.request(made[0], where, ident)
            asked.send(line)
            answer = asked.answer()
            assert answer.id == ident
            if answer.type == "error":
                code, params = (answer.body["error"][name] for name in ("code", "params"))
                assert code in CATALOGUE
                assert code != "engine-bug" or not typed, (line, params)
                user_error(code, params)
            arena.check()

        run.many("requests", lambda chance, size: (chance, size), check)


def test_lines_that_are_no_requests(arena: Arena) -> None:
    with engine(arena) as asked:
        for line in messages.no_requests():
            asked.send(line)
            assert asked.answer().body["error"]["code"] in CATALOGUE


def test_a_line_without_an_end_ends_an_engine_with_a_message(arena: Arena) -> None:
    command = [sys.executable, "-c", "from torchkeeper.engine.serve import main; main()"]
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=arena.inside, **pipes) as process:  # type: ignore[call-overload]
        peak = 0
        try:
            for piece in messages.endless():
                process.stdin.write(piece)
                # What the kernel says at its end counts the process that it was forked from, too.
                peak = max(peak, peak_of(process.pid))
        except BrokenPipeError:
            pass
        lines = process.stdout.read().splitlines()
        assert json.loads(lines[-1])["error"]["code"] == "request-malformed"
        assert process.wait(LONG) == 0
        assert 0 < peak < MOST_MEMORY


def test_messages(run: Run, arena: Arena) -> None:
    def hear(pieces: list[bytes]) -> None:
        lines = protocol.Lines()
        for piece in pieces:
            for line in lines.feed(piece):
                try:
                    message = protocol.message_from(protocol.decode(line))
                except protocol.WireError:
                    continue
                for row in message.rows:
                    try:
                        entry_from_json(row)
                    except ValueError:
                        continue
                if message.type == "error":
                    error = message.body["error"]
                    assert str(user_error(error["code"], error.get("params", {})))

    run.many("wire", messages.from_engine, lambda pieces: arena.held(lambda: hear(pieces)))


def test_an_endless_line_is_given_up_at_once(arena: Arena) -> None:
    lines = protocol.Lines()

    def feed() -> None:
        for piece in messages.endless():
            lines.feed(piece)

    with memory_bounded(), pytest.raises(protocol.WireError):
        arena.held(feed)


@pytest.mark.parametrize("what", ["cat /dev/zero", "yes", "yes >&2 | cat /dev/zero >&2", "echo {}"])
def test_an_interpreter_that_is_none(what: str, arena: Arena) -> None:
    program = arena.inside / "python"
    program.write_text(f"#!/bin/sh\n{what}\n")
    program.chmod(0o755)
    with memory_bounded(), Engine(str(program)) as started:
        if ">&2" in what:
            time.sleep(0.3)
            assert sum(map(len, started.log)) < 64 << 20
            started.kill()
            return
        with pytest.raises(UserError):
            started.call("list", {"place": "/x"})
