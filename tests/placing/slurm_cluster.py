"""A Slurm cluster on this machine: its own controller, its own slurmd for each node, its own munge,
in a folder of their own.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Debian has them where only root looks.
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_NEEDED = ("sbatch", "squeue", "sinfo", "scancel", "scontrol", "slurmctld", "slurmd", "munged")

_CONFIG = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
GresTypes=gpu
ReturnToService=2
KillWait=2
SlurmdTimeout=300
SlurmdParameters=config_overrides
{nodes}
PartitionName=main Nodes=cpu[1-{cpus}] Default=YES State=UP
PartitionName=gpu Nodes=gpu1 State=UP
"""


class Cluster:
    """``cpus`` machines cpu1, cpu2, … and gpu1, whose two GPUs are files."""

    def __init__(self, cpus: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tk-slurm-"))
        self.config = self.folder / "slurm.conf"
        self._cpus = cpus
        self.daemons = dict[str, subprocess.Popen[bytes]]()

    def begin(self) -> None:
        folder, host = self.folder, socket.gethostname().partition(".")[0]
        names = [f"cpu{number + 1}" for number in range(self._cpus)]
        controller, *ports = _ports(len(names) + 2)
        common = f"NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 State=UNKNOWN"
        lines = [
            f"NodeName={name} Port={port} Feature={'a' if name == 'cpu1' else 'b'} {common}"
            for name, port in zip(names, ports, strict=False)
        ]
        lines.append(f"NodeName=gpu1 Port={ports[-1]} Gres=gpu:h100:2 {common}")
        for number in range(2):
            (folder / f"device{number}").touch()
        (folder / "gres.conf").write_text(
            f"NodeName=gpu1 Name=gpu Type=h100 File={folder}/device[0-1]\n"
        )
        self.config.write_text(_CONFIG.format(
            host=host, port=controller, folder=folder, cpus=self._cpus, nodes="\n".join(lines),
            user=pwd.getpwuid(os.geteuid()).pw_name,
        ))  # fmt: skip
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(256))
        key.chmod(0o400)
        files = {"key-file": key, "socket": folder / "munge.socket", "pid-file": folder / "m.pid",
                 "log-file": folder / "munge.log", "seed-file": folder / "seed"}  # fmt: skip
        self._start(
            "munged", "-F", "--force", *(f"--{name}={path}" for name, path in files.items())
        )
        _until((folder / "munge.socket").exists)
        self.control()
        for name in (*names, "gpu1"):
            self.node(name)
        self.idle()

    def idle(self) -> None:
        """Wait until nothing runs or waits, and all machines are there."""
        all_idle = ["idle"] * (self._cpus + 1)

        def idle() -> bool:
            states = self.says("sinfo", "-h", "-N", "-o", "%T").split()
            return states == all_idle and not self.jobs()

        _until(idle)

    def control(self) -> None:
        self._start("slurmctld", "-D", "-f", str(self.config))
        _until(lambda: " is UP" in self.says("scontrol", "ping"))

    def node(self, name: str) -> None:
        self._start("slurmd", "-D", "-N", name, "-f", str(self.config), name=name)

    def _start(self, program: str, *words: str, name: str = "") -> None:
        found = shutil.which(program, path=_PATH)
        assert found
        with open(self.folder / "daemons.log", "ab") as log:
            self.daemons[name or program] = subprocess.Popen(
                [found, *words], env={**os.environ, "SLURM_CONF": str(self.config)},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def leave(self, name: str) -> None:
        """End a daemon. A controller that is killed forgets the jobs of the last seconds, and gives
        their numbers to others.
        """
        daemon = self.daemons.pop(name)
        daemon.terminate()
        daemon.wait()

    def kill(self, name: str) -> None:
        """End a daemon by force."""
        daemon = self.daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def lose(self, name: str) -> None:
        """End the daemon of a machine by force, with all that runs there."""
        self.kill(name)
        for path in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                env = (path / "environ").read_bytes().split(b"\0")
                here = {f"SLURM_CONF={self.config}".encode(), f"SLURMD_NODENAME={name}".encode()}
                if here <= set(env):
                    above = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                    if "slurmstepd" in Path(f"/proc/{above}/comm").read_text():
                        os.kill(above, signal.SIGKILL)
                    os.kill(int(path.name), signal.SIGKILL)

    def says(self, command: str, *words: str) -> str:
        env = {**os.environ, "SLURM_CONF": str(self.config)}
        return subprocess.run(
            [command, *words], env=env, capture_output=True, text=True, check=False
        ).stdout

    def jobs(self) -> list[list[str]]:
        """The number, state and node of each job that waits or runs."""
        return [
            line.split("|") for line in self.says("squeue", "-h", "-o", "%i|%T|%N").splitlines()
        ]

    def ended(self) -> None:
        """Wait until nothing waits, or goes on."""
        _until(lambda: {job[1] for job in self.jobs()} <= {"COMPLETING"})

    def clear(self) -> None:
        """Cancel all jobs: a controller that was killed has older ones than it had."""
        self.says("scancel", "--user", pwd.getpwuid(os.geteuid()).pw_name)

    def close(self) -> None:
        self.clear()
        with contextlib.suppress(TimeoutError):
            _until(lambda: not self.jobs(), 30)
        for daemon in reversed(self.daemons.values()):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons.values():
            daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def cluster(cpus: int) -> Iterator[Cluster]:
    """One that is there, or the test is skipped."""
    missing = [name for name in _NEEDED if not shutil.which(name, path=_PATH)]
    if missing:
        debian = "Debian’s slurmctld, slurmd, slurm-client, munge"
        pytest.skip(f"there is no {', '.join(missing)}, of {debian}")
    made = Cluster(cpus)
    try:
        made.begin()
        yield made
    finally:
        made.close()


def _until(holds: object, seconds: float = 120) -> None:
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def _ports(count: int) -> list[int]:
    """Ports that are free."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in made:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in made]
