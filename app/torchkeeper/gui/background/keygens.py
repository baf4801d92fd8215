"""ssh-keygen at work for the window: it asks in lines of its standard error, and is answered on its
standard input (``client.signers.environment_asking``). No answer is kept, or written elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal, Slot

from torchkeeper.client import signers
from torchkeeper.client.words.problems import printable, user_error

#: What it says where a passphrase, or the PIN of a token, is not the right one.
_WRONG = b"incorrect passphrase"
#: Milliseconds that one that was killed may take to be gone.
_TO_END_MS = 2000
#: Characters of a question that are shown.
_LONG = 400


class Run(QObject):
    """One ssh-keygen, made and connected in the thread that asks, then moved (see ``requests``)."""

    spoke = Signal(object)
    ended = Signal(object)
    unstartable = Signal(object)

    def __init__(self, ticket: int, command: Sequence[str]) -> None:
        super().__init__()
        self.ticket = ticket
        self.wrong = False
        self.line = b""
        self.heard = b""
        self.told = False
        self.process = process = QProcess(self)
        process.setProgram(command[0])
        process.setArguments(list(command[1:]))
        made = QProcessEnvironment()
        for name, value in signers.environment_asking().items():
            made.insert(name, value)
        process.setProcessEnvironment(made)
        process.setStandardOutputFile(QProcess.nullDevice())
        # In a session of its own it has no terminal to ask on.
        process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        process.readyReadStandardError.connect(self._speaks)
        process.finished.connect(self._ends)
        process.errorOccurred.connect(self._fails)

    def start(self, wrong: bool = False) -> None:
        """Start it, or once more. wrong: what it was told the last time was."""
        self.wrong, self.told = wrong, False
        self.line = self.heard = b""
        self.process.start()

    @Slot()
    def _speaks(self) -> None:
        self.spoke.emit(self)

    @Slot(int, QProcess.ExitStatus)
    def _ends(self, _code: int, _how: QProcess.ExitStatus) -> None:
        self.ended.emit(self)

    @Slot(QProcess.ProcessError)
    def _fails(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self.unstartable.emit(self)


class Said(NamedTuple):
    """It ``asks``, after a ``wrong`` answer perhaps; or a note, empty when that is over."""

    text: str
    asks: bool = False
    wrong: bool = False


class Keygens(QObject):
    """Runs them; every method but one runs in the worker's thread, and none waits but ``stop``."""

    #: As of a request: a ticket, a list of one Said or the result, and the log, always empty.
    said = Signal(int, object)
    result = Signal(int, object, object)
    failed = Signal(int, object, object)
    cancelled = Signal(int, object)

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[int, Run] = {}
        self._stopping = False

    def run_of(self, ticket: int, command: Sequence[str]) -> Run:
        """One for a command; made in the thread that asks, ``begin`` follows in the worker's."""
        run = Run(ticket, command)
        run.spoke.connect(self._hear)
        run.ended.connect(self._over)
        run.unstartable.connect(self._not_begun)
        run.moveToThread(self.thread())
        return run

    def begin(self, run: Run) -> None:
        if self._stopping:
            self._leave(run)
            self.cancelled.emit(run.ticket, [])
            return
        run.setParent(self)
        self._runs[run.ticket] = run
        run.start()

    def answer(self, ticket: int, text: str) -> None:
        if (run := self._runs.get(ticket)) is not None:
            run.told = True
            run.process.write(text.encode() + b"\n")

    def cancel(self, ticket: int) -> None:
        """End one at once."""
        if (run := self._runs.pop(ticket, None)) is not None:
            run.process.kill()
            run.process.waitForFinished(_TO_END_MS)
            self._leave(run)
            self.cancelled.emit(ticket, [])

    def stop(self) -> None:
        self._stopping = True
        for ticket in list(self._runs):
            self.cancel(ticket)

    @Slot(object)
    def _hear(self, run: Run) -> None:
        run.line += run.process.readAllStandardError().data()
        *whole, run.line = run.line.split(b"\n")
        run.line = run.line[-signers.SAID :]
        for line in whole:
            if line.startswith(signers.ASKS):
                self.said.emit(run.ticket, [Said(_text(line, signers.ASKS), True, run.wrong)])
            elif line.startswith(signers.NOTES):
                self.said.emit(run.ticket, [Said(_text(line, signers.NOTES))])
            else:
                run.heard = (run.heard + line + b"\n")[-signers.SAID :]

    @Slot(object)
    def _over(self, run: Run) -> None:
        if self._runs.get(run.ticket) is not run:
            return  # it was cancelled
        self._hear(run)
        run.heard += run.line
        code = run.process.exitCode()
        if code == 0 and run.process.exitStatus() == QProcess.ExitStatus.NormalExit:
            self._leave(run)
            self.result.emit(run.ticket, None, [])
        elif run.told and _WRONG in run.heard:
            # It asks only once; whoever mistyped is asked again, and can cancel.
            run.start(wrong=True)
        else:
            self._leave(run)
            self.failed.emit(run.ticket, signers.failed(run.heard, code), [])

    @Slot(object)
    def _not_begun(self, run: Run) -> None:
        if self._runs.get(run.ticket) is run:
            self._leave(run)
            why = run.process.errorString().rstrip(".")
            self.failed.emit(run.ticket, user_error("signing-failed", {"why": why}), [])

    def _leave(self, run: Run) -> None:
        self._runs.pop(run.ticket, None)
        run.deleteLater()


def _text(line: bytes, mark: bytes) -> str:
    return printable(line[len(mark) :].decode(errors="replace").strip(), _LONG)
