"""The words for every finding of a rule or of the doctor: what is wrong, why, and what to do.

As in ``link.words``: an engine sends codes and figures, and nothing that it says is prose.
"""

from __future__ import annotations

from torchkeeper.link import doctorwords
from torchkeeper.link.words import UserError, Words, words_for
from torchkeeper.settings.finding import Finding

WORDS: dict[str, Words] = {
    # Settings, by themselves
    "remote-autograd-alone": Words(
        "The remote AOTAutograd cache is on, and the remote FX graph cache is not.",
        "What AOTAutograd keeps on the server names graphs that no other machine will find there, "
        "so that it misses everywhere else.",
        "Set TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1 as well.",
    ),
    # The doctor
    **doctorwords.WORDS,
    # Settings, and what code makes of them
    "setting-overridden": Words(
        "{variable} is set, and code of the program sets something else.",
        "{where} makes it {value}, which is what counts.",
        "Change it there, or do without the variable.",
    ),
    "setting-forced": Words(
        "{variable} is set, and counts whatever the program says.",
        "{where} sets it as well, without effect: PyTorch lets this variable win.",
        "Unset the variable to let the program decide.",
    ),
}


def said(finding: Finding) -> UserError:
    """What, why and remedy of a finding, with its figures in them."""
    if finding.code in doctorwords.SPOKEN:
        return doctorwords.SPOKEN[finding.code](finding)
    return words_for(WORDS, finding.code, {"place": finding.place, **finding.params})
