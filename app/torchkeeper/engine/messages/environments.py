"""Operations about environments, settings and processes."""

from typing import TypedDict

from torchkeeper.settings.shapes import OfProcessTold, ProcessesTold, ProcessTold, SettingsTold
from torchkeeper.verdict.probed import Env


class ProbeParams(TypedDict, total=False):
    """The window asks ``again`` for what is kept of an interpreter; an engine always looks."""

    again: bool


#: The environment of the engine's interpreter.
ProbeResult = Env


class KnowParams(TypedDict):
    """python: the name by which the environment is asked about from now on."""

    python: str
    env: Env


class KnowResult(TypedDict):
    """Nothing."""


class SettingsParams(TypedDict):
    """Of the engine's interpreter."""


class SettingsResult(SettingsTold):
    """Each setting of that."""


class ProcessesParams(TypedDict):
    """Of all of this user's."""


class ProcessesRow(ProcessTold):
    """A process that has torch."""


class ProcessesResult(ProcessesTold):
    """How many there are."""


class ProcessSettingsParams(TypedDict):
    """Of one process."""

    pid: int


class ProcessSettingsResult(OfProcessTold):
    """What that process has."""


class _HeldParams(TypedDict):
    place: str


class HeldParams(_HeldParams, total=False):
    """trace: the folder of the trace; what it holds already is not the program's."""

    trace: str


class HeldResult(TypedDict):
    """How many graphs the folder holds, and whether it is there."""

    fxgraph: int
    aotautograd: int
    exists: bool
