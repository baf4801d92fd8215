"""What packaging/test tells of a run of pytest, with ``-p tests.failures --failures=FILE``.

``FILE`` names each test that failed, and why, as it fails. At the end ``FILE.alone`` names those
that are worth another run, alone, where a run that was not broken off has only a few.
"""

from __future__ import annotations

from pathlib import Path

import pytest

#: So many are run again; more have a cause in common that another run would not take away.
FEW = 5


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures", metavar="FILE", help="write the names of what failed")


def pytest_configure(config: pytest.Config) -> None:
    # Who shares the tests out hears of all that the other processes run.
    file = config.getoption("--failures")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Failures(Path(file)))


class _Failures:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._alone = file.with_name(f"{file.name}.alone")
        self._names: list[str] = []
        self._broken = False
        self._alone.unlink(missing_ok=True)
        file.write_text("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            # A process that ended over a test (pytest-xdist) took the app's own code with it.
            self._broken |= report.when not in ("setup", "call", "teardown")
            self._tell(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._broken = True
            self._tell(report)

    def _tell(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.nodeid in self._names:
            return
        self._names.append(report.nodeid)
        crash = getattr(report.longrepr, "reprcrash", None)
        said = (crash.message if crash else report.longreprtext).strip().splitlines()
        why = (said[0] if crash else said[-1]) if said else "nothing was said"
        with self._file.open("a") as file:
            file.write(f"{report.nodeid}\t{' '.join(why.split())}\n")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        whole = not (self._broken or session.shouldfail or session.shouldstop)
        few = 0 < len(self._names) <= FEW
        if whole and few and exitstatus == pytest.ExitCode.TESTS_FAILED:
            self._alone.write_text("".join(f"{name}\n" for name in self._names))
