"""Rules on the profiles of jobs (torch/_dynamo/pgo.py)."""

from __future__ import annotations

from collections.abc import Iterator

from torchkeeper.settings.checks.about import (
    JOB,
    LOCAL_PROFILES,
    MASTER,
    REMOTE_PROFILES,
    About,
    Values,
)
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import decides, on

_STICKY = ("TORCH_COMPILE_STICKY_PGO_READ", "TORCH_COMPILE_STICKY_PGO_WRITE")
_RESERVED = "mast:"


def job_name(values: Values, about: About) -> Iterator[Finding]:
    """Names that end every compile, or are as good as none."""
    name = decides(values, JOB, about.torch)
    if name is None or on(values, MASTER, about.torch):
        return
    text = values[name]
    if text in ("0", "1"):
        yield Finding("job-is-number", "error", (name,), params={"name": name, "text": text},
                      change={name: f"job-{text}"})  # fmt: skip
    elif text.startswith(_RESERVED):
        yield Finding("job-reserved", "error", (name,), params={"name": name},
                      change={name: f"job-{text[len(_RESERVED):]}"})  # fmt: skip
    elif not text:
        yield Finding("job-empty", "warning", (name,), params={"name": name},
                      change={name: None})  # fmt: skip


def without_job(values: Values, about: About) -> Iterator[Finding]:
    """Without the name of a job no profile is kept, whatever is on."""
    asked = [x for x in (REMOTE_PROFILES, LOCAL_PROFILES) if x in values and on(values, x)]
    asked += [x for x in _STICKY if values.get(x)]
    if asked and decides(values, JOB, about.torch) is None:
        yield Finding("profile-without-job", "warning", (asked[0], JOB),
                      params={"name": asked[0]})  # fmt: skip


def unused_job(values: Values, about: About) -> Iterator[Finding]:
    """A job whose profile is kept nowhere."""
    name = decides(values, JOB, about.torch)
    kept = on(values, LOCAL_PROFILES, about.torch) or on(values, REMOTE_PROFILES, about.torch)
    if name and not kept:
        yield Finding("job-unused", "warning", (name, LOCAL_PROFILES), params={"name": name},
                      change={LOCAL_PROFILES: None})  # fmt: skip


def sticky(values: Values, about: About) -> Iterator[Finding]:
    """Profiles of other jobs are read from a server, and written to one, only."""
    asked = [x for x in _STICKY if values.get(x)]
    if asked and not on(values, REMOTE_PROFILES, about.torch):
        yield Finding("sticky-without-server", "warning", (asked[0], REMOTE_PROFILES),
                      params={"name": asked[0]}, change={REMOTE_PROFILES: "1"})  # fmt: skip
    for name in asked:
        if values[name] in ("0", "1"):
            read = "True" if values[name] == "1" else "False"
            yield Finding("sticky-is-number", "warning", (name,),
                          params={"name": name, "read": read}, change={name: None})  # fmt: skip


RULES = (job_name, without_job, unused_job, sticky)
