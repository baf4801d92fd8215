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
        "{name} is on. So PyTorch reads and writes no cache, and compiles everything again.",
        "Unset {name}.",
    ),
    "caches-off-others": Words(
        "All caches are off, although some are turned on.",
        "{name} is on, and overrides {others}.",
        "Unset {name}.",
    ),
    "graphs-off": Words(
        "The cache of compiled graphs is off.",
        "{name} turns it off. Without it, AOTAutograd keeps nothing either, so PyTorch compiles "
        "every graph again.",
        "Unset {name}, or set it to 1.",
    ),
    "autograd-without-graphs": Words(
        "The AOTAutograd cache is on, but the cache of compiled graphs is off.",
        "So PyTorch bypasses the AOTAutograd cache. {name} turns the cache of graphs off.",
        "Set {name}=1.",
    ),
    "compiling-off": Words(
        "Compiling is off.",
        "{name}=1 makes torch.compile do nothing: programs run as they are written.",
        "Unset {name}.",
    ),
    "freezing-uncached": Words(
        "With TORCHINDUCTOR_FREEZING, PyTorch does not use the AOTAutograd cache.",
        "It bypasses the cache, because the weights are a part of the graph. Each start traces the "
        "model again.",
        "Unset TORCHINDUCTOR_FREEZING if a fast start matters more.",
    ),
    "precompile-unsaved": Words(
        "PyTorch does not write by itself what TORCH_CACHING_PRECOMPILE collects.",
        "It writes that when a program calls torch.compiler.save_cache_artifacts(). It loads it by "
        "itself.",
        "Call torch.compiler.save_cache_artifacts() in the program when everything is compiled.",
    ),
    "needs-missing": Words(
        "{name} has no effect.", "It needs {need}, which is off.", "Set {need}=1."
    ),
    "setting-idle": Words(
        "{name} has no effect.",
        "Published versions of PyTorch do not use it. But it is part of keys: with another value, "
        "PyTorch looks for other entries.",
        "Unset it everywhere.",
    ),
    "value-in-keys": Words(
        "{name} is part of keys.",
        "Programs do not find entries that were made without it, or with another value.",
        "Set the same value where you make entries and where you use them.",
    ),
    # Settings: caches on a server
    "remote-autograd-alone": Words(
        "The remote AOTAutograd cache is on, but the remote FX graph cache is off.",
        "AOTAutograd's entries on the server name graphs that are not there, so they miss on every "
        "other machine.",
        "Set TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1 as well.",
    ),
    "bundled-autotune-no-gpu": Words(
        "The bundled autotuning cache needs a GPU.",
        "With TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE=1, every compile on a machine without a "
        "GPU ends with an AssertionError.",
        "Unset it on machines without a GPU.",
    ),
    "redis-missing": Words(
        "Python’s redis package is missing.",
        "PyTorch needs it for its caches on a server. Without it they are off; PyTorch only logs a "
        "warning.",
        "Install it: pip install redis.",
    ),
    "server-not-named": Words(
        "No Redis server is named.",
        "A cache on a server is on, so PyTorch looks for a server on this machine, port 6379. If "
        "none answers, each such cache costs some seconds, without a message.",
        "Set TORCHINDUCTOR_REDIS_URL, or host and port.",
    ),
    "server-unused": Words(
        "{name} has no effect.",
        "No cache on a server is on.",
        "Set TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1, or unset {name}.",
    ),
    "url-and-host": Words(
        "{names} has no effect.", "TORCHINDUCTOR_REDIS_URL overrides it.", "Unset {names}."
    ),
    "url-scheme": Words(
        "TORCHINDUCTOR_REDIS_URL is not the address of a Redis server.",
        "It must begin with redis://, rediss:// or unix://, in small letters. PyTorch goes on "
        "without its caches on a server, and only logs a warning.",
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
        "Every compiled graph records TORCHINDUCTOR_REDIS_URL, even if no cache on a server is on; "
        "since torch 2.14 only if a trace is written, as by “torchkeeper run”. Whoever gets such "
        "an entry can read the password.",
        "Name a server without a password by host and port. Or hide the password when you share "
        "entries: “torchkeeper export --redact”.",
    ),
    "host-wrong": Words(
        "TORCHINDUCTOR_REDIS_HOST is not the name of a host.",
        "PyTorch reaches no server, waits some seconds for it, and reports nothing.",
        "Give only the name or the address. The port belongs into TORCHINDUCTOR_REDIS_PORT, a "
        "whole address into TORCHINDUCTOR_REDIS_URL.",
    ),
    "port-wrong": Words(
        "TORCHINDUCTOR_REDIS_PORT is not a port.",
        "It must be a number from 1 to 65535. PyTorch goes on without its caches on a server.",
        "Give a number, or unset it for 6379.",
    ),
    # Settings: texts that do not mean what they look like
    "text-empty": Words(
        "{name} is empty, which means off.",
        "An empty text is not the same as no text: PyTorch reads it as off.",
        "Unset {name}, or set it to 1 or 0.",
    ),
    "text-is-on": Words(
        "{name} is on.",
        "PyTorch reads every text as on, except 0 and an empty text; also “{text}”.",
        "Set it to 1 or 0.",
    ),
    "text-is-off": Words(
        "{name} is off.", "PyTorch does not read “{text}” as on.", "Set it to 1 or 0."
    ),
    "text-ignored": Words(
        "{name} has no effect.",
        "PyTorch reads only 1 and 0 here, and ignores “{text}”.",
        "Set it to 1 or 0.",
    ),
    "number-unreadable": Words(
        "{name} is not a number.",
        "PyTorch reads it at its start, and every compile ends with an error.",
        "Give a number, or unset it.",
    ),
    "names-disagree": Words(
        "{winner} and {loser} say different things.",
        "They are two names of one setting. {winner} counts.",
        "Unset {loser}.",
    ),
    "variable-unknown": Words(
        "Nothing reads {name}.", "Did you mean {meant}?", "Set {meant}, and unset {name}."
    ),
    "variable-too-new": Words(
        "torch {torch} does not read {name}.",
        "It exists since torch {since}, and has no effect before.",
        "Unset it, or use torch {since} or later.",
    ),
    # Settings: profiles of jobs
    "job-is-number": Words(
        "A job cannot be named {text}.",
        "PyTorch reads 1 and 0 in {name} as on and off, and every compile ends with an "
        "AttributeError.",
        "Give it another name, with a letter.",
    ),
    "job-reserved": Words(
        "The name of a job cannot begin with mast:.",
        "PyTorch reserves that: every compile ends with a ReservedWorkflowIdUserError.",
        "Give {name} another name.",
    ),
    "job-empty": Words(
        "The job has an empty name.",
        "An empty {name} is a name, too: all programs with it share one profile.",
        "Unset it, or name the job.",
    ),
    "profile-without-job": Words(
        "{name} has no effect.",
        "PyTorch keeps profiles by job, but no job is named.",
        "Set TORCH_COMPILE_JOB_ID to a name that all runs of the job share.",
    ),
    "job-unused": Words(
        "{name} has no effect.",
        "PyTorch keeps profiles neither here nor on a server.",
        "Unset TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO.",
    ),
    "sticky-without-server": Words(
        "{name} has no effect.",
        "PyTorch reads and writes profiles of other jobs on a server, but profiles on a server are "
        "off.",
        "Set TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO=1.",
    ),
    "sticky-is-number": Words(
        "{name} means a job named {read}.",
        "PyTorch reads 1 and 0 as on and off here, and takes that as a name.",
        "Give another name, with a letter.",
    ),
    # Settings: folders
    "folder-empty": Words(
        "{name} is empty, which is not the same as not set.",
        "An empty name means the folder in which the program starts, or is an error.",
        "Unset {name}.",
    ),
    "folder-unexpanded": Words(
        "Nothing expands “~” or “$” in {name}.",
        "PyTorch makes a folder with the name {folder} where a program starts.",
        "Write out the whole path.",
    ),
    "folder-quoted": Words(
        "Quotes or spaces around the path are part of {name}.",
        "PyTorch makes a folder with the name {folder} where a program starts. Files for “docker "
        "run --env-file” are often written like this.",
        "Write the path without them.",
    ),
    "folder-relative": Words(
        "{name} is not a whole path.",
        "{folder} is another folder, with its own cache, wherever a program starts.",
        "Write out the whole path.",
    ),
    "folder-blank": Words(
        "There is a space, a quote or a backslash in {name}.",
        "PyTorch does not quote {folder} for the C++ compiler: every kernel for the CPU fails.",
        "Choose a path without them. Or make a link without them to the folder (ln -s), and set "
        "{name} to that.",
    ),
    "kernels-apart": Words(
        "Triton’s kernels are not in the cache folder.",
        "They are in {folder}, which all GPUs share. A copy of the cache folder does not contain "
        "them.",
        "Unset TRITON_CACHE_DIR, unless you want that.",
    ),
    "triton-home-unused": Words(
        "TRITON_HOME has no effect.", "TRITON_CACHE_DIR overrides it.", "Unset TRITON_HOME."
    ),
    # Settings: Triton's own cache
    "triton-compiles-always": Words(
        "Triton compiles every kernel again.",
        "TRITON_ALWAYS_COMPILE is on: Triton does not use its cache.",
        "Unset TRITON_ALWAYS_COMPILE.",
    ),
    "triton-interprets": Words(
        "Triton compiles no kernel.",
        "TRITON_INTERPRET is on: Triton interprets kernels, which is very slow, and keeps none.",
        "Unset TRITON_INTERPRET.",
    ),
    "class-unreadable": Words(
        "{name} is not a class.",
        "It must be MODULE:CLASS. Triton ends with an error for each kernel.",
        "Write it as triton.runtime.cache:FileCacheManager, or unset it.",
    ),
    "triton-manager-alone": Words(
        "Triton does not know which server it should use.",
        "TRITON_CACHE_MANAGER needs TRITON_REMOTE_CACHE_BACKEND. Without it, Triton ends with an "
        "error for each kernel.",
        "Unset TRITON_CACHE_MANAGER, or name a class that reaches your server.",
    ),
    "triton-backend-alone": Words(
        "TRITON_REMOTE_CACHE_BACKEND has no effect.",
        "Only triton.runtime.cache:RemoteCacheManager reads it, but TRITON_CACHE_MANAGER names "
        "something else.",
        "Set TRITON_CACHE_MANAGER=triton.runtime.cache:RemoteCacheManager.",
    ),
    "triton-redis-broken": Words(
        "Triton’s own Redis cache does not work.",
        "Since Triton 3.4, its class for Redis does not find its own settings, and ends with an "
        "AttributeError for each kernel.",
        "Unset TRITON_REMOTE_CACHE_BACKEND and TRITON_CACHE_MANAGER, or name a class of your own. "
        "Kernels of torch.compile go to a server in their graphs: "
        "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1.",
    ),
    "triton-redis-unused": Words(
        "{names} has no effect.",
        "Only Triton’s class for Redis reads it, but TRITON_REMOTE_CACHE_BACKEND names something "
        "else. PyTorch’s server is TORCHINDUCTOR_REDIS_URL.",
        "Unset it.",
    ),
    "key-format-unreadable": Words(
        "TRITON_REDIS_KEY_FORMAT cannot be filled in.",
        "Triton only fills in {{key}} and {{filename}}; anything else ends with an error for each "
        "kernel.",
        "Unset it, or write it as triton:{{key}}:{{filename}}.",
    ),
    "key-format-incomplete": Words(
        "TRITON_REDIS_KEY_FORMAT lacks {missing}.",
        "Files of kernels overwrite each other on the server: a program loads a file of another "
        "kernel, or fails.",
        "Unset it, or write it as triton:{{key}}:{{filename}}.",
    ),
    "triton-port-wrong": Words(
        "TRITON_REDIS_PORT is not a port.",
        "It must be a number from 1 to 65535; else Triton’s class for Redis fails.",
        "Give a number, or unset it for 6379.",
    ),
    # Settings, and what code makes of them
    "setting-overridden": Words(
        "{variable} is set, but code of the program sets something else.",
        "{where} sets it to {value}, which counts.",
        "Change it there, or unset the variable.",
    ),
    "setting-forced": Words(
        "{variable} is set, and overrides the program.",
        "{where} sets it as well, without effect: in PyTorch, this variable counts.",
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
