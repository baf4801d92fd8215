"""The words for what the doctor finds, by the codes of its findings (``findingwords``)."""

from __future__ import annotations

from torchkeeper.client.words import owned
from torchkeeper.client.words.catalogue.words import Forms, Words
from torchkeeper.client.words.problems import UserError, words_for
from torchkeeper.client.words.tongue import Text
from torchkeeper.settings.finding import Finding

_OWN_FOLDER: Text = "Set TORCHINDUCTOR_CACHE_DIR to a folder on a disk of this machine."
_MAKE_ROOM: Text = (
    "Make room: “torchkeeper purge --suggest” says what is dead there, and “trash --empty” "
    "frees what was purged."
)
_FEWER: Text = "Remove small files there: “torchkeeper purge --suggest” says what is dead."
_PURGE_STALE: Text = (
    "“torchkeeper doctor --fix” moves to the trash what no known environment can use, and so "
    "does “purge --stale”."
)

WORDS: dict[str, Words] = {
    # The disk
    "folder-read-only": Words(
        "{place} is mounted read-only.",
        "PyTorch writes the code of each graph there first, so that every compile fails: OSError, "
        "Read-only file system.",
        "Mount {point} so that it can be written, or set TORCHINDUCTOR_CACHE_DIR to a folder that "
        "can.",
    ),
    "folder-noexec": Words(
        "Nothing in {place} can be loaded: {point} is mounted noexec.",
        "PyTorch builds its C++ kernels there and loads them; that fails with “failed to map "
        "segment from shared object”, and so does every compile that needs one.",
        "Mount {point} without noexec, in Docker --tmpfs {point}:exec, or set "
        "TORCHINDUCTOR_CACHE_DIR to another folder.",
    ),
    "folder-in-memory": Words(
        "{place} is in memory, on a {type}.",
        "It is gone when the machine starts again, and what is in it takes {size_bytes} of memory.",
        "To keep it, set TORCHINDUCTOR_CACHE_DIR to a folder on a disk, or export it before.",
    ),
    "folder-on-network": Words(
        "{place} may be shared with other machines: it is on {type}, from {source}.",
        "Every lookup waits for the network, locks between machines work only where the server "
        "supports them, and a CPU of another kind may load objects that it cannot run.",
        "Set TORCHINDUCTOR_CACHE_DIR to a folder on a disk of this machine. “torchkeeper copy” "
        "carries entries between them.",
    ),
    "folder-locks-local": Words(
        "Locks in {place} do not bind other machines: {point} is mounted with {option}.",
        "PyTorch locks a file while it builds an object; two machines that build the same one "
        "write over each other.",
        "Set TORCHINDUCTOR_CACHE_DIR to a folder on a disk of this machine. Or mount {point} "
        "without that option.",
    ),
    "folder-in-container": Words(
        "{place} is in the file system of a container.",
        "It is gone when the container is removed, so that every new one compiles again.",
        "Mount a volume there, or put a bundle into the image: “torchkeeper export”, then “import” "
        "where it is built.",
    ),
    "disk-is-full": Words(
        "The disk of {place} is full: {free_bytes} left.",
        "A compile that cannot write its code fails: OSError, No space left on device.",
        _MAKE_ROOM,
    ),
    "disk-nearly-full": Words(
        "The disk of {place} is nearly full: {free_bytes} left, and the cache takes {size_bytes}.",
        "When it is full, every compile fails.",
        _MAKE_ROOM,
    ),
    "no-inodes": Words(
        "No more files can be made where {place} is: {free} left.",
        "A compile that cannot make a file fails, however many bytes are free.",
        _FEWER,
    ),
    "few-inodes": Words(
        "Few more files can be made where {place} is: {free} left, and the cache has {files}.",
        "When none is left, every compile fails, however many bytes are free.",
        _FEWER,
    ),
    # Who can write there
    "folder-unwritable": Words(
        "{place} cannot be written: {why}.",
        "PyTorch writes the code of each graph there first, so that every compile fails.",
        "Have its owner let you write there, or set TORCHINDUCTOR_CACHE_DIR to a folder of your "
        "own.",
    ),
    "folder-closed": Words(
        "{place} cannot be read: {why}.",
        "PyTorch cannot look up anything there.",
        "Have its owner let you read it, or set TORCHINDUCTOR_CACHE_DIR to a folder of your own.",
    ),
    "folder-owned": Words("Others can change what lies in {place}."),
    # Names and times
    "path-blank": Words(
        "There is a {character} in the path {place}.",
        "PyTorch puts the path into the command of the C++ compiler and splits that as a shell "
        "would: every kernel for the CPU fails with a C++ compile error.",
        "Set TORCHINDUCTOR_CACHE_DIR to a folder without blanks, quotes and backslashes in its "
        "path.",
    ),
    "path-long": Words(
        "The path of {place} is too long: {length} bytes, with what is in it {longest}.",
        "Linux opens paths of up to {most} bytes. PyTorch compiles all the same, logs “File name "
        "too long”, and keeps nothing.",
        "Use a folder with a shorter path.",
    ),
    "names-short": Words(
        "Names in {place} may have {most} characters only.",
        "PyTorch's and Triton's have up to 255; what is named longer is not kept.",
        _OWN_FOLDER,
    ),
    "files-from-future": Words(
        Forms(
            "{count} file from the future in {place}, by {ahead_s} seconds.",
            "{count} files from the future in {place}, by up to {ahead_s} seconds.",
        ),
        Forms(
            "PyTorch does not mind, but no age can be told of it: “purge --older” never takes it. "
            "A clock was wrong when it was written, or is wrong now. It is {path}.",
            "PyTorch does not mind, but no age can be told of them: “purge --older” never takes "
            "them. A clock was wrong when they were written, or is wrong now; the first is {path}.",
        ),
        Forms(
            "Set the clock, if it is wrong. “torchkeeper doctor --fix” sets its time to now.",
            "Set the clock, if it is wrong. “torchkeeper doctor --fix” sets their times to now.",
        ),
    ),
    "clock-skew": Words(
        "The clock of {source} differs from this machine's by {skew_s} seconds.",
        "Ages of what lies in {place} are wrong by that: what is being written may be taken for "
        "left behind.",
        "Have both machines set their clocks over the network (NTP).",
    ),
    # What lies in it
    "left-over": Words(
        Forms(
            "A program that was ended while it wrote has left a file in {place}. Temporary: "
            "{files}; locks of what is gone: {locks}.",
            "Programs that were ended while they wrote have left files in {place}. Temporary: "
            "{files}; locks of what is gone: {locks}.",
            "files+locks",
        ),
        Forms(
            "Nobody needs it, and it takes {size_bytes} on disk. It is {path}.",
            "Nobody needs them, and together they take {size_bytes} on disk. The first is {path}.",
            "files+locks",
        ),
        Forms(
            "“torchkeeper doctor --fix” moves it to the trash.",
            "“torchkeeper doctor --fix” moves them to the trash.",
            "files+locks",
        ),
    ),
    "journal-of-others": Words(
        "Another user's Torchkeeper was cut off in {place}.",
        "What it was doing is half done, and only that user can bring it to its end: {path}.",
        "Have that user run “torchkeeper ls” there.",
    ),
    "entries-broken": Words(
        Forms("{count} broken entry in {place}.", "{count} broken entries in {place}."),
        Forms(
            "It cannot be read, or lacks what it needs: PyTorch compiles it again. It takes "
            "{size_bytes} on disk, and is {path}.",
            "They cannot be read, or lack what they need: PyTorch compiles them again. They take "
            "{size_bytes} on disk; the first is {path}.",
        ),
        Forms(
            "“torchkeeper doctor --fix” moves it to the trash, and so does “purge --broken”.",
            "“torchkeeper doctor --fix” moves them to the trash, and so does “purge --broken”.",
        ),
    ),
    "entries-orphaned": Words(
        Forms(
            "{count} entry in {place} that nothing needs.",
            "{count} entries in {place} that nothing needs.",
        ),
        Forms(
            "What it belongs to is gone. It takes {size_bytes} on disk, and is {path}.",
            "What they belong to is gone. They take {size_bytes} on disk; the first is {path}.",
        ),
        Forms(
            "“torchkeeper doctor --fix” moves it to the trash, and so does “purge --orphans”.",
            "“torchkeeper doctor --fix” moves them to the trash, and so does “purge --orphans”.",
        ),
    ),
    "all-stale": Words(
        Forms(
            "Nothing in {place} can be used here: {count} entry is stale.",
            "Nothing in {place} can be used here: {count} entries are stale.",
        ),
        Forms(
            "It was made by another torch ({made_by}) or for another device, and every program "
            "compiles anew. It takes {size_bytes} on disk. “torchkeeper check” says why.",
            "They were made by another torch ({made_by}) or for another device, and every program "
            "compiles anew. They take {size_bytes} on disk. “torchkeeper check” says why of each.",
        ),
        _PURGE_STALE,
    ),
    "some-stale": Words(
        Forms(
            "{count} of {of} entries in {place} is stale here.",
            "{count} of {of} entries in {place} are stale here.",
        ),
        Forms(
            "It was made by another torch ({made_by}) or for another device. It takes "
            "{size_bytes} on disk. “torchkeeper check” says why.",
            "They were made by another torch ({made_by}) or for another device. They take "
            "{size_bytes} on disk. “torchkeeper check” says why of each.",
        ),
        _PURGE_STALE,
    ),
    "some-unsafe": Words(
        Forms(
            "PyTorch takes {count} entry of {place} that is for another machine.",
            "PyTorch takes {count} entries of {place} that are for another machine.",
        ),
        Forms(
            "It was compiled for {theirs}, and here it is {here}, which no key tells: a program "
            "may compute wrong results, or end. “torchkeeper check” says which entry that is.",
            "They were compiled for {theirs}, and here it is {here}, which no key tells: a program "
            "may compute wrong results, or end. “torchkeeper check” says which entries those are.",
        ),
        "Set TORCHINDUCTOR_CACHE_DIR to a folder of this machine's own, and compile again. If "
        "ATEN_CPU_CAPABILITY is set, unset it.",
    ),
    "threads-differ": Words(
        Forms(
            "{count} graph in {place} is for another number of threads: {threads}; here torch uses "
            "{here}.",
            "{count} graphs in {place} are for another number of threads: {threads}; here torch "
            "uses {here}.",
        ),
        Forms(
            "The number of threads is in the key of what is compiled for a CPU: it is compiled "
            "again.",
            "The number of threads is in the key of what is compiled for a CPU: they are compiled "
            "again.",
        ),
        "Set OMP_NUM_THREADS={threads} where that is meant, or compile for {here}.",
    ),
    "trash-large": Words(
        "The trash of {place} takes {trash_bytes} on disk, and what is in use {size_bytes}.",
        "What is purged frees nothing before the trash is emptied.",
        "“torchkeeper trash {quoted} --empty” removes it for good; “undo” puts the latest purge "
        "back.",
    ),
    "folder-unread": Words(
        Forms(
            "No environment reads {place}, which holds {count} entry and takes {size_bytes} on "
            "disk.",
            "No environment reads {place}, which holds {count} entries and takes {size_bytes} on "
            "disk.",
        ),
        "No known interpreter and no running process uses it as its cache. A container, or a "
        "program that names the folder itself, may still use it.",
        "If nobody needs it: torchkeeper purge {quoted}",
    ),
    "caches-alike": Words(
        Forms(
            "{count} entry is in {place} and in {other}, too.",
            "{count} entries are in {place} and in {other}, too.",
        ),
        "What is compiled twice takes room twice: {size_bytes} on disk.",
        "Have all programs use one folder: set TORCHINDUCTOR_CACHE_DIR to it; “torchkeeper copy” "
        "joins the two.",
    ),
    # The interpreter
    "torch-unusable": Words(
        "torch cannot be imported in {python}.",
        "{why}",
        "Install it there, or name another interpreter with --env.",
    ),
    "no-compiler": Words(
        "There is no C++ compiler: {compiler} is not found.",
        "torch builds every kernel for the CPU with one, and fails with InvalidCxxCompiler "
        "without. What runs on a GPU or calls extern kernels alone compiles.",
        "Install g++ (Debian: apt install g++), or set CXX to another compiler.",
    ),
    "compiler-fails": Words(
        "The C++ compiler {compiler} does not work.",
        "torch fails with every kernel for the CPU. It said: {said}",
        "Install g++ again, or set CXX to another compiler.",
    ),
    "compiler-no-openmp": Words(
        "The C++ compiler {compiler} cannot build with OpenMP.",
        "torch asks for it with every kernel for the CPU, which fails. It said: {said}",
        "Install the OpenMP library of that compiler: libgomp for g++, libomp-dev for clang++.",
    ),
    "compiler-no-python": Words(
        "The headers of Python are missing.",
        "torch includes Python.h in what it builds for the CPU, which fails. {compiler} said: "
        "{said}",
        "Install them: on Debian apt install python3-dev, of the version of this interpreter.",
    ),
    "object-unloadable": Words(
        "What the C++ compiler {compiler} builds cannot be loaded.",
        "torch loads each kernel for the CPU after it was built, which fails: {said}",
        "A compiler for this machine is needed; and the temporary folder must not be mounted "
        "noexec.",
    ),
    "eager-silent": Words(
        "Eager kernels of {place} cannot be built again, and PyTorch will not say so.",
        "aoti_compile_with_persistent_cache catches whatever fails and returns an empty text; the "
        "C++ compiler does not work.",
        "Mend the compiler.",
    ),
    "header-missing": Words(
        "The precompiled C++ header is not there.",
        "The first program that compiles or loads a kernel for the CPU waits until PyTorch has "
        "built it: some 20 seconds, 150 MB.",
        "“torchkeeper prepare” builds it ahead, and so does “doctor --fix”.",
    ),
    "header-of-another": Words(
        "The precompiled C++ header is refused by the compiler.",
        "It is of another compiler or CPU, or cut short: every kernel takes as long as without, or "
        "fails. It is {path}.",
        "“torchkeeper prepare” builds it anew, and so does “doctor --fix”.",
    ),
    "triton-broken": Words(
        "Triton cannot be imported.",
        "Nothing compiles for a GPU without it. {why}",
        "Install the Triton that belongs to this torch.",
    ),
    "triton-missing": Words(
        "There is a GPU, and no Triton.",
        "torch.compile makes kernels for a GPU with Triton, and fails without.",
        "Install the Triton that belongs to this torch.",
    ),
    "triton-no-compiler": Words(
        "Triton finds no C compiler.",
        "It builds what starts a kernel with gcc or clang, and fails without.",
        "Install gcc, or set CC to another compiler.",
    ),
    "triton-compiler-fails": Words(
        "The C compiler {cc} that Triton would use does not work.",
        "It builds what starts a kernel with it, which includes Python.h. It said: {said}",
        "Install gcc and the headers of Python (python3-dev), or set CC to another compiler.",
    ),
    "ptxas-fails": Words(
        "Triton's assembler does not work: {ptxas}.",
        "Every kernel for an NVIDIA GPU fails without. {said}",
        "Install Triton again, or set TRITON_PTXAS_PATH to a ptxas that works.",
    ),
    "driver-old": Words(
        "The driver of the GPU is too old for this torch, which is built for {built}.",
        "torch sees no GPU. It says: {why}",
        "Install a newer driver, or a torch that is built for an older CUDA.",
    ),
    "gpu-unseen": Words(
        "torch is built for {built} and sees no GPU, though there is one.",
        "All is compiled for the CPU. {why}",
        "Look at CUDA_VISIBLE_DEVICES, at the rights of /dev/nvidia* or /dev/kfd, and at the "
        "driver: nvidia-smi or rocminfo.",
    ),
    "no-gpu": Words(
        "torch is built for {built}, and there is no GPU.",
        "All is compiled for the CPU; entries for a GPU in a cache are stale here.",
        "In a container, start it with the GPU (docker run --gpus all). Else nothing is to do.",
    ),
    # Servers
    "server-password": Words(
        "PyTorch cannot log in to {place}: {problem}.",
        "PyTorch says nothing of that: it compiles, finds nothing on the server, and writes "
        "nothing there.",
        "Put the right password into TORCHINDUCTOR_REDIS_URL, as redis://:PASSWORD@HOST:PORT.",
    ),
    "server-wants-none": Words(
        "{place} has no password, and may refuse to be given one.",
        "With version 8 of Python's redis package PyTorch gets in all the same. With versions 5 "
        "and 6 it is refused and says nothing of that: it finds nothing on the server, and writes "
        "nothing there.",
        "Leave the password out of TORCHINDUCTOR_REDIS_URL, or set one on the server.",
    ),
    "server-unusable": Words(
        "{place} cannot be used: {problem}.",
        "PyTorch goes on without it, mostly without a message: it finds nothing there, and writes "
        "nothing.",
        "See that the server runs and can be reached from here; “torchkeeper server” says more.",
    ),
    "server-replica": Words(
        "{place} is a replica, which takes no writes.",
        "PyTorch finds what is there, logs “fx graph unable to write to cache” for what is not, "
        "and keeps nothing on the server.",
        "Name the master in TORCHINDUCTOR_REDIS_URL where programs are to fill the cache.",
    ),
    "server-full-up": Words(
        "The memory of {place} is full: {used_bytes} of {max_bytes}.",
        "It refuses writes: PyTorch logs “fx graph unable to write to cache” and keeps nothing "
        "there.",
        "Set maxmemory-policy to allkeys-lru on the server, give it more memory, or purge there.",
    ),
    "server-refuses-writes": Words(
        "{place} refuses writes: {problem}.",
        "PyTorch logs “fx graph unable to write to cache” and keeps nothing there.",
        "“torchkeeper server” says what is allowed there.",
    ),
    "server-nearly-full": Words(
        "The memory of {place} is nearly full: {used_bytes} of {max_bytes}.",
        "It evicts nothing that PyTorch writes ({policy}): when it is full it refuses writes, and "
        "PyTorch keeps nothing there any more.",
        "Set maxmemory-policy to allkeys-lru on the server, or purge what was not used for long.",
    ),
    "server-no-limit": Words(
        "{place} has no limit of memory.",
        "PyTorch never sets an expiry: the server grows until its machine has no memory left.",
        "Set maxmemory on the server, and maxmemory-policy allkeys-lru.",
    ),
    "server-evicts-nothing": Words(
        "{place} evicts only keys with an expiry ({policy}), and PyTorch sets none.",
        "When its memory is full it refuses writes, and PyTorch keeps nothing there any more.",
        "Set maxmemory-policy to allkeys-lru on the server, or have entries expire: “torchkeeper "
        "ttl {place} 30d”.",
    ),
    "server-evicting": Words(
        Forms(
            "{place} evicts: {evicted} key went since its start.",
            "{place} evicts: {evicted} keys went since its start.",
            "evicted",
        ),
        "Its memory is full; what was evicted is compiled again.",
        "Give it more memory, or purge what is stale: “torchkeeper purge --suggest”.",
    ),
    "server-never-expires": Words(
        Forms(
            "Nothing on {place} ever expires: {keys} key.",
            "Nothing on {place} ever expires: {keys} keys.",
            "keys",
        ),
        "PyTorch sets no expiry, and this server does not evict: what is stale stays for ever.",
        "“torchkeeper ttl {quoted} 30d” has what is there expire.",
    ),
}


def _owned(finding: Finding) -> UserError:
    """What is found of owners and modes, in the words that are said of it everywhere."""
    said = owned.told([finding.params["owned"]]) if "owned" in finding.params else []
    return said[0].error if said else words_for(WORDS, finding.code, {"place": finding.place})


#: The same where nothing records which torch made it.
_MADE_BY_NOBODY: dict[str, Words] = {
    "all-stale": WORDS["all-stale"]._replace(
        why=Forms(
            "It was made by another torch or for another device, and every program compiles anew. "
            "It takes {size_bytes} on disk. “torchkeeper check” says why.",
            "They were made by another torch or for another device, and every program compiles "
            "anew. They take {size_bytes} on disk. “torchkeeper check” says why of each.",
        )
    ),
    "some-stale": WORDS["some-stale"]._replace(
        why=Forms(
            "It was made by another torch or for another device. It takes {size_bytes} on disk. "
            "“torchkeeper check” says why.",
            "They were made by another torch or for another device. They take {size_bytes} on "
            "disk. “torchkeeper check” says why of each.",
        )
    ),
}


def _stale(finding: Finding) -> UserError:
    """What is found of stale entries, by which torch they were made where that is recorded."""
    table = WORDS if finding.params.get("made_by") else _MADE_BY_NOBODY
    return words_for(table, finding.code, {"place": finding.place, **finding.params})


#: Findings whose words depend on more than their figures.
SPOKEN = {"folder-owned": _owned, "all-stale": _stale, "some-stale": _stale}

#: What each fix does, before it is done; {entries} and {size} on the disk are of its plan.
FIXES: dict[str, Text] = {
    "trash-broken": "Move what is broken to the trash of {place}: {entries}, {size}.",
    "trash-orphans": "Move what nothing needs to the trash of {place}: {entries}, {size}.",
    "trash-stale": "Move what no known environment can use to the trash of {place}: {entries}, "
    "{size}.",
    "trash-leftovers": "Move what ended programs left to the trash of {place}: {entries}, {size}.",
    "chmod": "Take the right to write away from others, of {files} in {place}: {paths}. What has "
    "mode {modes} now loses the w of group and others; no undo brings it back.",
    "chmod-above": "Take the right to write to {above}, which {place} lies in, away from others. "
    "It has mode {modes} now and loses the w of group and others; no undo brings it back.",
    "touch": "Set the time of {files} in {place} to now: {paths}. No undo brings back what it was.",
    "prepare": "Have PyTorch build its precompiled C++ header, about 150 MB.",
}
