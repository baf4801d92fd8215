"""ssh-keygen at work for the window: it signs a file, and asks through the window what it has to.

It has no terminal: what it wants to know comes as a line of its standard error, and the answer goes
to its standard input (``link.signing.environment_asking``). No answer is kept, or written anywhere
else.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal, Slot

from torchkeeper.link import signing
from torchkeeper.link.words.problems import printable, user_error

#: What it says where a passphrase, or the PIN of a token, is not the right one.
_WRONG = b"incorrect passphrase"
#: Milliseconds that one that was killed may take to be gone.
_TO_END_MS = 2000
#: Characters of a question that are shown.
_LONG = 400


class _Run:
    """One ssh-keygen: what it said, and whether it was told something."""

    def __init__(self, command: Sequence[str], process: QProcess, wrong: bool) -> None:
        self.command = command
        self.process = process
        self.wrong = wrong
        self.line = b""
        self.heard = b""
        self.told = False


class Keygens(QObject):
    """Runs them; every method runs in the worker's thread, and none waits but ``stop``."""

    #: As of a request: a ticket, what is found, and the log, which is always empty.
    findings = Signal(int, object)
    result = Signal(int, object, object)
    failed = Signal(int, object, object)
    cancelled = Signal(int, object)

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[int, _Run] = {}
        self._stopping = False

    @Slot(int, object)
    def begin(self, ticket: int, command: Sequence[str]) -> None:
        """Run a command (``link.keys.command``). What it asks is found as ``{"ask": {text,
        wrong}}``, and what it notes, such as that a token wants to be touched, as ``{"notice"}``;
        wrong: whether the answer before was.
        """
        self._begin(ticket, command, wrong=False)

    @Slot(int, str)
    def answer(self, ticket: int, text: str) -> None:
        """Tell it what it asked for."""
        run = self._runs.get(ticket)
        if run is not None:
            run.told = True
            run.process.write(text.encode() + b"\n")

    @Slot(int)
    def cancel(self, ticket: int) -> None:
        """End one at once."""
        run = self._runs.pop(ticket, None)
        if run is not None:
            self._end(run)
            self.cancelled.emit(ticket, [])

    @Slot()
    def stop(self) -> None:
        """End them all."""
        self._stopping = True
        for ticket in list(self._runs):
            self.cancel(ticket)

    def _begin(self, ticket: int, command: Sequence[str], wrong: bool) -> None:
        if self._stopping:
            self.cancelled.emit(ticket, [])
            return
        process = QProcess(self)
        process.setProgram(command[0])
        process.setArguments(list(command[1:]))
        made = QProcessEnvironment()
        for name, value in signing.environment_asking().items():
            made.insert(name, value)
        process.setProcessEnvironment(made)
        process.setStandardOutputFile(QProcess.nullDevice())
        # In a session of its own it has no terminal to ask on.
        process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        run = self._runs[ticket] = _Run(command, process, wrong)
        process.readyReadStandardError.connect(lambda: self._hear(ticket, run))
        process.finished.connect(lambda code, _how: self._over(ticket, run, code))
        process.errorOccurred.connect(lambda error: self._not_begun(ticket, run, error))
        process.start()

    def _hear(self, ticket: int, run: _Run) -> None:
        run.line += run.process.readAllStandardError().data()
        *whole, run.line = run.line.split(b"\n")
        run.line = run.line[-signing.SAID :]
        for line in whole:
            if line.startswith(signing.ASKS):
                ask = {"text": _text(line, signing.ASKS), "wrong": run.wrong}
                self.findings.emit(ticket, [{"ask": ask}])
            elif line.startswith(signing.NOTES):
                self.findings.emit(ticket, [{"notice": _text(line, signing.NOTES)}])
            else:
                run.heard = (run.heard + line + b"\n")[-signing.SAID :]

    def _over(self, ticket: int, run: _Run, code: int) -> None:
        if self._runs.get(ticket) is not run:
            return  # it was cancelled
        self._hear(ticket, run)
        run.heard += run.line
        del self._runs[ticket]
        run.process.deleteLater()
        if code == 0 and run.process.exitStatus() == QProcess.ExitStatus.NormalExit:
            self.result.emit(ticket, {}, [])
        elif run.told and _WRONG in run.heard:
            # It asks only once; whoever mistyped is asked again, and can cancel.
            self._begin(ticket, run.command, wrong=True)
        else:
            self.failed.emit(ticket, signing.failed(run.heard, code), [])

    def _not_begun(self, ticket: int, run: _Run, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._runs.get(ticket) is run:
            del self._runs[ticket]
            run.process.deleteLater()
            why = run.process.errorString().rstrip(".")
            self.failed.emit(ticket, user_error("signing-failed", {"why": why}), [])

    def _end(self, run: _Run) -> None:
        run.process.kill()
        run.process.waitForFinished(_TO_END_MS)
        run.process.deleteLater()


def _text(line: bytes, mark: bytes) -> str:
    return printable(line[len(mark) :].decode(errors="replace").strip(), _LONG)
