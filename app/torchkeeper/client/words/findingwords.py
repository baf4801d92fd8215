"""The words for every finding of a rule or of the doctor: what is wrong, why, and what to do. As in
``client.words.problems``, nothing that an engine sends is prose.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable

from torchkeeper.client.words import doctorwords, say
from torchkeeper.client.words.catalogue.words import Words
from torchkeeper.client.words.problems import UserError, printable, words_for
from torchkeeper.client.words.tongue import Nouns, tr
from torchkeeper.settings.finding import SEVERITIES, Finding

WORDS: dict[str, Words] = {
    # Settings: what is kept at all, and under which keys
    "caches-off": Words(
        "All caches are off.",
        "{name} is on. PyTorch reads and writes no cache then, and compiles everything anew.",
        "Unset {name}.",
    ),
    "caches-off-others": Words(
        "All caches are off, although some are turned on.",
        "{name} is on, and wins over {others}.",
        "Unset {name}.",
    ),
    "graphs-off": Words(
        "The cache of compiled graphs is off.",
        "{name} turns it off. Without it AOTAutograd keeps nothing either, so that every graph is "
        "compiled anew.",
        "Unset {name}, or set it to 1.",
    ),
    "autograd-without-graphs": Words(
        "The AOTAutograd cache is on, and the cache of compiled graphs is not.",
        "PyTorch bypasses the AOTAutograd cache then. {name} turns the other one off.",
        "Set {name}=1.",
    ),
    "compiling-off": Words(
        "Compiling is off.",
        "{name}=1 makes torch.compile do nothing: programs run as they are written.",
        "Unset {name}.",
    ),
    "freezing-uncached": Words(
        "With TORCHINDUCTOR_FREEZING the AOTAutograd cache is not used.",
        "PyTorch bypasses it, because the weights are a part of the graph. Each start traces "
        "the model again.",
        "Unset TORCHINDUCTOR_FREEZING where starting fast matters more.",
    ),
    "precompile-unsaved": Words(
        "What TORCH_CACHING_PRECOMPILE collects is not written by itself.",
        "PyTorch writes it when a program calls torch.compiler.save_cache_artifacts(), and loads "
        "it by itself.",
        "Have the program call torch.compiler.save_cache_artifacts() when it has compiled all.",
    ),
    "needs-missing": Words(
        "{name} has no effect.", "It needs {need}, which is off.", "Set {need}=1."
    ),
    "setting-idle": Words(
        "{name} has no effect.",
        "The PyTorch that is published does not read it. But it is part of the keys of entries: "
        "with another value others are used.",
        "Unset it, everywhere.",
    ),
    "value-in-keys": Words(
        "{name} is part of the keys of entries.",
        "Entries that were made without it, or with another value, are not found.",
        "Set the same wherever entries are made and wherever they are used.",
    ),
    # Settings: caches on a server
    "remote-autograd-alone": Words(
        "The remote AOTAutograd cache is on, and the remote FX graph cache is not.",
        "What AOTAutograd keeps on the server names graphs that no other machine will find there, "
        "so that it misses everywhere else.",
        "Set TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1 as well.",
    ),
    "bundled-autotune-no-gpu": Words(
        "The bundled autotuning cache needs a GPU.",
        "With TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE=1, every compile on a machine without "
        "one ends in a bare AssertionError.",
        "Unset it where there is no GPU.",
    ),
    "redis-missing": Words(
        "Python’s redis package is missing.",
        "PyTorch needs it for its caches on a server. Without it they are off, and only a "
        "warning in the log tells.",
        "Install it: pip install redis.",
    ),
    "server-not-named": Words(
        "No Redis server is named.",
        "A cache on a server is on, so that PyTorch looks for one on this machine, port 6379. "
        "Where none answers, each such cache costs some seconds and nothing is said.",
        "Set TORCHINDUCTOR_REDIS_URL, or host and port.",
    ),
    "server-unused": Words(
        "{name} has no effect.",
        "No cache on a server is on.",
        "Set TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1, or unset {name}.",
    ),
    "url-and-host": Words(
        "{names} has no effect.", "TORCHINDUCTOR_REDIS_URL is set, and wins.", "Unset {names}."
    ),
    "url-scheme": Words(
        "TORCHINDUCTOR_REDIS_URL is no address of a Redis server.",
        "It has to begin with redis://, rediss:// or unix://, in small letters. PyTorch goes on "
        "without its caches on a server, and only a warning in the log tells.",
        "Write it as redis://host:6379/0.",
    ),
    "url-unreadable": Words(
        "TORCHINDUCTOR_REDIS_URL cannot be read.",
        "Its host, port, database or an option is wrong. PyTorch goes on without its caches on a "
        "server, or uses another database.",
        "Write it as redis://host:6379/0, and “/”, “?”, “#” and “@” in a password as %2F, %3F, "
        "%23 and %40.",
    ),
    "url-password": Words(
        "PyTorch records this password in entries.",
        "Every compiled graph that is kept records TORCHINDUCTOR_REDIS_URL as it is, whether a "
        "cache on a server is on or not; since torch 2.14, where a trace is written, as by "
        "“torchkeeper run”. Whoever gets such an entry can read the password.",
        "Use a server that needs no password, by host and port; or hide the password in what you "
        "share: “torchkeeper export --redact” finds it in entries.",
    ),
    "host-wrong": Words(
        "TORCHINDUCTOR_REDIS_HOST is no name of a host.",
        "PyTorch reaches no server, waits some seconds for it and says nothing.",
        "Give the name or the address alone; the port is TORCHINDUCTOR_REDIS_PORT, and all "
        "together is TORCHINDUCTOR_REDIS_URL.",
    ),
    "port-wrong": Words(
        "TORCHINDUCTOR_REDIS_PORT is no port.",
        "It has to be a number from 1 to 65535. PyTorch goes on without its caches on a server.",
        "Give a number, or unset it for 6379.",
    ),
    # Settings: texts that do not mean what they look like
    "text-empty": Words(
        "{name} is empty, which is off.",
        "An empty text is not the same as none: PyTorch takes it for off.",
        "Unset {name}, or set it to 1 or 0.",
    ),
    "text-is-on": Words(
        "{name} is on.",
        "PyTorch takes every text for on but 0 and an empty one, “{text}” too.",
        "Set it to 1 or 0.",
    ),
    "text-is-off": Words(
        "{name} is off.", "“{text}” is not what it takes for on.", "Set it to 1 or 0."
    ),
    "text-ignored": Words(
        "{name} is as if it were not set.",
        "PyTorch reads 1 and 0 here, and ignores “{text}”.",
        "Set it to 1 or 0.",
    ),
    "number-unreadable": Words(
        "{name} is no number.",
        "PyTorch reads it first of all, and every compile ends in an error.",
        "Give a number, or unset it.",
    ),
    "names-disagree": Words(
        "{winner} and {loser} say different things.",
        "They are two names of one setting. {winner} wins.",
        "Unset {loser}.",
    ),
    "variable-unknown": Words(
        "Nothing reads {name}.", "Did you mean {meant}?", "Set {meant}, and unset {name}."
    ),
    "variable-too-new": Words(
        "torch {torch} does not read {name}.",
        "It came with torch {since}, and has no effect before.",
        "Unset it, or use torch {since} or later.",
    ),
    # Settings: profiles of jobs
    "job-is-number": Words(
        "A job cannot be named {text}.",
        "PyTorch takes 1 and 0 in {name} for on and off, and every compile ends in an "
        "AttributeError.",
        "Give it another name, with a letter.",
    ),
    "job-reserved": Words(
        "The name of a job cannot begin with mast:.",
        "PyTorch has that for itself: every compile ends in a ReservedWorkflowIdUserError.",
        "Give {name} another name.",
    ),
    "job-empty": Words(
        "The job has an empty name.",
        "An empty {name} is a name too: all programs that have it share one profile.",
        "Unset it, or name the job.",
    ),
    "profile-without-job": Words(
        "{name} has no effect.",
        "Profiles are kept by job, and no job is named.",
        "Set TORCH_COMPILE_JOB_ID to a name that all runs of the job share.",
    ),
    "job-unused": Words(
        "{name} has no effect.",
        "Profiles are kept neither here nor on a server.",
        "Unset TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO.",
    ),
    "sticky-without-server": Words(
        "{name} has no effect.",
        "Profiles of other jobs are read from a server and written to one, and there is none for "
        "profiles.",
        "Set TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO=1.",
    ),
    "sticky-is-number": Words(
        "{name} means a job named {read}.",
        "PyTorch takes 1 and 0 for on and off here, and makes a name of that.",
        "Give another name, with a letter.",
    ),
    # Settings: folders
    "folder-empty": Words(
        "{name} is empty, which is not the same as not set.",
        "An empty folder is the one a program happens to be started in, or an error.",
        "Unset {name}.",
    ),
    "folder-unexpanded": Words(
        "Nobody expands “~” or “$” in {name}.",
        "A folder that is really named {folder} is made where a program is started.",
        "Write out the whole path.",
    ),
    "folder-quoted": Words(
        "Quotes or blanks around the path are part of {name}.",
        "A folder that is really named {folder} is made where a program is started. Files for "
        "“docker run --env-file” are often written that way.",
        "Write the path without them.",
    ),
    "folder-relative": Words(
        "{name} is not a whole path.",
        "{folder} is another folder wherever a program is started, with a cache of its own.",
        "Write out the whole path.",
    ),
    "folder-blank": Words(
        "There is a blank, a quote or a backslash in {name}.",
        "PyTorch does not quote {folder} for the C++ compiler: what it compiles for the CPU fails.",
        "Choose a path without them, or make a link without them that leads to the folder (ln -s), "
        "and set {name} to that.",
    ),
    "kernels-apart": Words(
        "Triton’s kernels are not in the cache folder.",
        "They are in {folder}, so that they do not go along when the cache folder is copied, and "
        "all GPUs share it.",
        "Unset TRITON_CACHE_DIR, unless that is meant.",
    ),
    "triton-home-unused": Words(
        "TRITON_HOME has no effect.", "TRITON_CACHE_DIR is set, and wins.", "Unset TRITON_HOME."
    ),
    # Settings: Triton's own cache
    "triton-compiles-always": Words(
        "Triton compiles every kernel anew.",
        "TRITON_ALWAYS_COMPILE is on: what the cache has is not used.",
        "Unset TRITON_ALWAYS_COMPILE.",
    ),
    "triton-interprets": Words(
        "Triton compiles no kernel.",
        "TRITON_INTERPRET is on: kernels are interpreted, which is very slow, and none is kept.",
        "Unset TRITON_INTERPRET.",
    ),
    "class-unreadable": Words(
        "{name} is no class.",
        "It has to be MODULE:CLASS. Triton ends with an error for each kernel.",
        "Write it as triton.runtime.cache:FileCacheManager, or unset it.",
    ),
    "triton-manager-alone": Words(
        "Triton is to use a server, and does not know which.",
        "TRITON_CACHE_MANAGER needs TRITON_REMOTE_CACHE_BACKEND; without it Triton ends with an "
        "error for each kernel.",
        "Unset TRITON_CACHE_MANAGER, or name a class that reaches your server.",
    ),
    "triton-backend-alone": Words(
        "TRITON_REMOTE_CACHE_BACKEND has no effect.",
        "Only triton.runtime.cache:RemoteCacheManager asks it, and TRITON_CACHE_MANAGER does not "
        "name that.",
        "Set TRITON_CACHE_MANAGER=triton.runtime.cache:RemoteCacheManager.",
    ),
    "triton-redis-broken": Words(
        "Triton’s own Redis cache does not work.",
        "Since Triton 3.4 its class for Redis looks for its settings where they are not, and ends "
        "with an AttributeError for each kernel.",
        "Unset TRITON_REMOTE_CACHE_BACKEND and TRITON_CACHE_MANAGER, or name a class of your own. "
        "Kernels of torch.compile go to a server within their graphs: "
        "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1.",
    ),
    "triton-redis-unused": Words(
        "{names} has no effect.",
        "Only Triton’s class for Redis reads it, and TRITON_REMOTE_CACHE_BACKEND does not name "
        "that. PyTorch’s server is TORCHINDUCTOR_REDIS_URL.",
        "Unset it.",
    ),
    "key-format-unreadable": Words(
        "TRITON_REDIS_KEY_FORMAT cannot be filled in.",
        "{{key}} and {{filename}} are all that Triton has for it; else it ends with an error for "
        "each kernel.",
        "Unset it, or write it as triton:{{key}}:{{filename}}.",
    ),
    "key-format-incomplete": Words(
        "TRITON_REDIS_KEY_FORMAT lacks {missing}.",
        "Files of kernels take each other’s place on the server: a program loads what belongs to "
        "another kernel, or fails.",
        "Unset it, or write it as triton:{{key}}:{{filename}}.",
    ),
    "triton-port-wrong": Words(
        "TRITON_REDIS_PORT is no port.",
        "It has to be a number from 1 to 65535, else Triton’s class for Redis fails.",
        "Give a number, or unset it for 6379.",
    ),
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
    # The doctor
    **doctorwords.WORDS,
}


#: What findings are called, by their severity.
_CALLED: dict[str, Nouns] = {
    "error": ("error", "errors"),
    "warning": ("warning", "warnings"),
    "advice": ("piece of advice", "pieces of advice"),
}


def counted(found: Iterable[Finding]) -> list[str]:
    """How many there are of each severity, the worst first; none of which there is none."""
    counts = Counter(one.severity for one in found)
    return [say.count(counts[each], *_CALLED[each]) for each in SEVERITIES if counts[each]]


def said(finding: Finding) -> UserError:
    """What, why and remedy of a finding, with its figures in them."""
    if finding.code in doctorwords.SPOKEN:
        return doctorwords.SPOKEN[finding.code](finding)
    # A problem that is a part of the sentence speaks of the server that the sentence has named.
    named = {"place": finding.place, "server": tr("it")}
    # In a command it is pasted into a shell.
    named["quoted"] = shlex.quote(finding.place)
    told = words_for(WORDS, finding.code, {**named, **finding.params})
    if where := finding.params.get("set_by"):
        place = printable(str(where))
        told.remedy = tr("Code sets that, at {place}: change it there.", place=place)
    return told
