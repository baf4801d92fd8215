"""Operations about environments, settings and processes."""

from typing import TypedDict

from torchkeeper.engine.messages.selecting import Nothing, OfPlace
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


KnowResult = Nothing
SettingsParams = Nothing
SettingsResult = SettingsTold
ProcessesParams = Nothing
ProcessesRow = ProcessTold
ProcessesResult = ProcessesTold


class ProcessSettingsParams(TypedDict):
    pid: int


ProcessSettingsResult = OfProcessTold


class HeldParams(OfPlace, total=False):
    """trace: the folder of the trace; what it holds already is not the program's."""

    trace: str


class HeldResult(TypedDict):
    fxgraph: int
    aotautograd: int
    exists: bool
