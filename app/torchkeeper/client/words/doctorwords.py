"""The words for what the doctor finds, by the codes of its findings (``findingwords``)."""

from __future__ import annotations

from torchkeeper.client.words import owned
from torchkeeper.client.words.catalogue import vllm
from torchkeeper.client.words.catalogue.words import Forms, Words
from torchkeeper.client.words.problems import UserError, words_for
from torchkeeper.client.words.tongue import Text
from torchkeeper.settings.finding import Finding

_OWN_FOLDER: Text = "Set TORCHINDUCTOR_CACHE_DIR to a folder on a disk of this machine."
_SEED: Text = (
    "Have it as a seed that jobs only read: “torchkeeper copy {place} FOLDER”, with FOLDER on a "
    "disk of this machine, and set TORCHINDUCTOR_CACHE_DIR to that."
)
_MAKE_ROOM: Text = (
    "Free some room: “torchkeeper purge --suggest” lists what you can remove, and “trash --empty” "
    "empties the trash."
)
_FEWER: Text = "Remove small files: “torchkeeper purge --suggest” lists what you can remove."
_PURGE_STALE: Text = (
    "“torchkeeper doctor --fix” moves to the trash what no known environment can use, and so "
    "does “purge --stale”."
)

WORDS: dict[str, Words] = {
    # The disk
    "folder-read-only": Words(
        "{place} is mounted read-only.",
        "PyTorch first writes the code of each graph there, so every compile fails: OSError, "
        "Read-only file system.",
        "Mount {point} writable, or set TORCHINDUCTOR_CACHE_DIR to a writable folder.",
    ),
    "folder-noexec": Words(
        "Nothing in {place} can be loaded: {point} is mounted noexec.",
        "PyTorch builds its C++ kernels there and loads them. That fails with “failed to map "
        "segment from shared object”, and so does every compile that needs a C++ kernel.",
        "Mount {point} without noexec, in Docker --tmpfs {point}:exec, or set "
        "TORCHINDUCTOR_CACHE_DIR to another folder.",
    ),
    "folder-in-memory": Words(
        "{place} is in memory, on a {type}.",
        "It is gone after a restart of the machine, and takes {size_bytes} of memory.",
        "To keep the cache, set TORCHINDUCTOR_CACHE_DIR to a folder on a disk, or export it.",
    ),
    "folder-on-network": Words(
        "{place} may be shared with other machines: it is on {type}, from {source}.",
        "Every lookup waits for the network, locks between machines work only where the server "
        "supports them, and a CPU of another kind may load objects that it cannot run.",
        _SEED,
    ),
    "folder-locks-local": Words(
        "Locks in {place} do not bind other machines: {point} is mounted with {option}.",
        "PyTorch locks a file while it builds an object; two machines that build the same one "
        "write over each other.",
        "Have it as a seed that jobs only read: “torchkeeper copy {place} FOLDER”, with FOLDER on "
        "a disk of this machine. Or mount {point} without that option.",
    ),
    "folder-of-objects": Words(
        "{place} is in an object store: it is on {type}, from {source}.",
        "Nothing is renamed there, only copied, no lock binds anybody, and each file is a request: "
        "programs read what is half written, or fail when they write.",
        _SEED,
    ),
    "folder-seen-late": Words(
        "What other machines write to {place} is seen up to {seconds} s later.",
        "{point} is mounted so: programs miss what is there, and read what was purged.",
        _SEED,
    ),
    "kinds-locked": Words(
        "In {place}, no lock between machines binds whoever writes {kinds}.",
        "Two machines that write the same one write over each other.",
        _SEED,
    ),
    "kinds-renamed": Words(
        "In {place}, {kinds} do not appear as a whole.",
        "Their writers rename what they have written, which an object store copies: another "
        "machine can read a part of it.",
        _SEED,
    ),
    "kinds-loaded": Words(
        "From {place}, programs load {kinds} as they lie there.",
        "Where another machine replaces or purges a file, a program that has loaded it can end "
        "with a stale file handle or a bus error.",
        _SEED,
    ),
    "folder-in-container": Words(
        "{place} is in the file system of a container.",
        "It is gone when the container is removed, so every new container compiles again.",
        "Mount a volume there, or put a bundle into the image: “torchkeeper export”, then “import” "
        "in the build of the image.",
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
        "The file system of {place} takes no more files: {free} left.",
        "A compile that cannot make a file fails, even if there are free bytes.",
        _FEWER,
    ),
    "few-inodes": Words(
        "The file system of {place} takes few more files: {free} left; the cache has {files}.",
        "When none is left, every compile fails, even if there are free bytes.",
        _FEWER,
    ),
    # Who can write there
    "folder-unwritable": Words(
        "{place} cannot be written: {why}.",
        "PyTorch first writes the code of each graph there, so every compile fails.",
        "Ask its owner for the right to write, or set TORCHINDUCTOR_CACHE_DIR to a folder of your "
        "own.",
    ),
    "folder-closed": Words(
        "{place} cannot be read: {why}.",
        "PyTorch cannot look up anything there.",
        "Ask its owner for the right to read, or set TORCHINDUCTOR_CACHE_DIR to your own folder.",
    ),
    "folder-owned": Words("Others can change what lies in {place}."),
    # Names and times
    "path-blank": Words(
        "There is a {character} in the path {place}.",
        "PyTorch puts the path into the command of the C++ compiler and splits that like a shell: "
        "every kernel for the CPU fails with a C++ compile error.",
        "Set TORCHINDUCTOR_CACHE_DIR to a folder without spaces, quotes and backslashes in its "
        "path.",
    ),
    "path-long": Words(
        "The path of {place} is too long: {length} bytes, and {longest} with the files in it.",
        "Linux opens paths of up to {most} bytes. PyTorch still compiles, but logs “File name too "
        "long”, and keeps nothing.",
        "Use a folder with a shorter path.",
    ),
    "names-short": Words(
        "Names in {place} can have only {most} characters.",
        "Names of PyTorch and Triton have up to 255; files with longer names are not kept.",
        _OWN_FOLDER,
    ),
    "files-from-future": Words(
        Forms(
            "{count} file from the future in {place}, by {ahead_s} seconds.",
            "{count} files from the future in {place}, by up to {ahead_s} seconds.",
        ),
        Forms(
            "PyTorch does not mind, but its age is not known: “purge --older” never removes it. "
            "A clock was wrong when it was written, or is wrong now. It is {path}.",
            "PyTorch does not mind, but their ages are not known: “purge --older” never removes "
            "them. A clock was wrong when they were written, or is wrong now; the first is {path}.",
        ),
        Forms(
            "Set the clock, if it is wrong. “torchkeeper doctor --fix” sets its time to now.",
            "Set the clock, if it is wrong. “torchkeeper doctor --fix” sets their times to now.",
        ),
    ),
    "clock-skew": Words(
        "The clock of {source} differs from this machine's by {skew_s} seconds.",
        "So the ages in {place} are wrong: a file that a program still writes may count as left "
        "behind.",
        "Let both machines set their clocks over the network (NTP).",
    ),
    **vllm.WORDS,
    # What lies in it
    "left-over": Words(
        Forms(
            "A program that ended while it wrote has left a file in {place}. Temporary files: "
            "{files}; locks without a file: {locks}.",
            "Programs that ended while they wrote have left files in {place}. Temporary files: "
            "{files}; locks without a file: {locks}.",
            "files+locks",
        ),
        Forms(
            "Nothing needs it, and it takes {size_bytes} on disk. It is {path}.",
            "Nothing needs them, and together they take {size_bytes} on disk. The first is {path}.",
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
        "Its change is half done, and only that user can complete it: {path}.",
        "Ask that user to run “torchkeeper recover” there.",
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
            "Another torch ({made_by}) made it, or it is for another device: every program "
            "compiles again. It takes {size_bytes} on disk. “torchkeeper check” says why.",
            "Another torch ({made_by}) made them, or they are for another device: every program "
            "compiles again. They take {size_bytes} on disk. “torchkeeper check” says why.",
        ),
        _PURGE_STALE,
    ),
    "some-stale": Words(
        Forms(
            "{count} of {of} entries in {place} is stale here.",
            "{count} of {of} entries in {place} are stale here.",
        ),
        Forms(
            "Another torch ({made_by}) made it, or it is for another device. It takes "
            "{size_bytes} on disk. “torchkeeper check” says why.",
            "Another torch ({made_by}) made them, or they are for another device. They take "
            "{size_bytes} on disk. “torchkeeper check” says why for each.",
        ),
        _PURGE_STALE,
    ),
    "some-unsafe": Words(
        Forms(
            "PyTorch uses {count} entry of {place} that is for another machine.",
            "PyTorch uses {count} entries of {place} that are for another machine.",
        ),
        Forms(
            "It was compiled for {theirs}, but this machine has {here}. No key records this: a "
            "program may compute wrong results, or crash. “torchkeeper check” names the entry.",
            "They were compiled for {theirs}, but this machine has {here}. No key records this: a "
            "program may compute wrong results, or crash. “torchkeeper check” names the entries.",
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
            "The number of threads is part of the key of a CPU graph: PyTorch compiles it again.",
            "The number of threads is part of the key of a CPU graph: PyTorch compiles them again.",
        ),
        "Set OMP_NUM_THREADS={threads} for programs that need it, or compile for {here}.",
    ),
    "trash-large": Words(
        "The trash of {place} takes {trash_bytes} on disk, and the entries take {size_bytes}.",
        "A purge frees no space until you empty the trash.",
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
        "The same content takes space twice: {size_bytes} on disk.",
        "Let all programs use one folder: set TORCHINDUCTOR_CACHE_DIR to it, or for what Triton "
        "alone keeps, TRITON_CACHE_DIR. “torchkeeper copy” joins the two.",
    ),
    # The interpreter
    "torch-unusable": Words(
        "torch cannot be imported in {python}.",
        "{why}",
        "Install it there, or name another interpreter with --env.",
    ),
    "no-compiler": Words(
        "There is no C++ compiler: {compiler} is not found.",
        "torch needs one for every kernel for the CPU; without it, it fails with "
        "InvalidCxxCompiler. Graphs for a GPU, or with extern kernels only, still compile.",
        "Install g++ (Debian: apt install g++), or set CXX to another compiler.",
    ),
    "compiler-fails": Words(
        "The C++ compiler {compiler} does not work.",
        "torch fails with every kernel for the CPU. It said: {said}",
        "Install g++ again, or set CXX to another compiler.",
    ),
    "compiler-no-openmp": Words(
        "The C++ compiler {compiler} cannot build with OpenMP.",
        "torch needs it for every kernel for the CPU, so these fail. It said: {said}",
        "Install the OpenMP library of that compiler: libgomp for g++, libomp-dev for clang++.",
    ),
    "compiler-no-python": Words(
        "The headers of Python are missing.",
        "torch includes Python.h in every kernel for the CPU, so these fail. {compiler} said: "
        "{said}",
        "Install them: on Debian apt install python3-dev, of the version of this interpreter.",
    ),
    "object-unloadable": Words(
        "torch cannot load what the C++ compiler {compiler} builds.",
        "torch loads each kernel for the CPU after the build, and that fails: {said}",
        "Use a compiler for this machine, and do not mount the temporary folder noexec.",
    ),
    "eager-silent": Words(
        "PyTorch cannot build the eager kernels of {place} again, and does not say so.",
        "The C++ compiler does not work. aoti_compile_with_persistent_cache hides every error, and "
        "returns an empty text.",
        "Repair the compiler.",
    ),
    "header-missing": Words(
        "The precompiled C++ header is not there.",
        "The first program that compiles or loads a kernel for the CPU waits until PyTorch has "
        "built it: about 20 seconds, 150 MB.",
        "“torchkeeper prepare” builds it ahead of time, and so does “doctor --fix”.",
    ),
    "header-of-another": Words(
        "The compiler refuses the precompiled C++ header.",
        "It is for another compiler or CPU, or cut off: every kernel takes as long as without it, "
        "or fails. It is {path}.",
        "“torchkeeper prepare” builds it again, and so does “doctor --fix”.",
    ),
    "triton-broken": Words(
        "Triton cannot be imported.",
        "Nothing compiles for a GPU without it. {why}",
        "Install the Triton that belongs to this torch.",
    ),
    "triton-missing": Words(
        "There is a GPU, but no Triton.",
        "torch.compile needs Triton for the kernels of a GPU, and fails without it.",
        "Install the Triton that belongs to this torch.",
    ),
    "triton-no-compiler": Words(
        "Triton finds no C compiler.",
        "It builds the launcher of a kernel with gcc or clang, and fails without.",
        "Install gcc, or set CC to another compiler.",
    ),
    "triton-compiler-fails": Words(
        "Triton's C compiler {cc} does not work.",
        "Triton builds the launcher of a kernel with it, and includes Python.h. It said: {said}",
        "Install gcc and the headers of Python (python3-dev), or set CC to another compiler.",
    ),
    "ptxas-fails": Words(
        "Triton's assembler does not work: {ptxas}.",
        "Without it, every kernel for an NVIDIA GPU fails. {said}",
        "Install Triton again, or set TRITON_PTXAS_PATH to a ptxas that works.",
    ),
    "driver-old": Words(
        "The driver of the GPU is too old for this torch, which is built for {built}.",
        "torch sees no GPU. It says: {why}",
        "Install a newer driver, or a torch that is built for an older CUDA.",
    ),
    "gpu-unseen": Words(
        "torch is built for {built}, but does not see the GPU of this machine.",
        "It compiles everything for the CPU. {why}",
        "Check CUDA_VISIBLE_DEVICES, the permissions of /dev/nvidia* or /dev/kfd, and the driver: "
        "nvidia-smi or rocminfo.",
    ),
    "no-gpu": Words(
        "torch is built for {built}, but there is no GPU.",
        "It compiles everything for the CPU; entries for a GPU are stale here.",
        "Start a container with the GPU (docker run --gpus all). Else there is nothing to do.",
    ),
    # Servers
    "server-password": Words(
        "PyTorch cannot log in to {place}: {problem}.",
        "PyTorch does not report that: it compiles, finds nothing on the server, and writes "
        "nothing there.",
        "Put the right password into TORCHINDUCTOR_REDIS_URL, as redis://:PASSWORD@HOST:PORT.",
    ),
    "server-wants-none": Words(
        "{place} has no password, and may refuse one.",
        "With version 8 of Python's redis package, PyTorch still connects. With versions 5 and 6, "
        "the server refuses, and PyTorch does not report that: it finds nothing on the server, and "
        "writes nothing there.",
        "Leave the password out of TORCHINDUCTOR_REDIS_URL, or set one on the server.",
    ),
    "server-unusable": Words(
        "{place} cannot be used: {problem}.",
        "PyTorch goes on without it, mostly without a message: it finds nothing there, and writes "
        "nothing.",
        "Check that the server runs, and that this machine reaches it. “torchkeeper server” says "
        "more.",
    ),
    "server-replica": Words(
        "{place} is a replica, which takes no writes.",
        "PyTorch finds what is there. For all else it logs “fx graph unable to write to cache”, "
        "and keeps nothing on the server.",
        "Name the master in TORCHINDUCTOR_REDIS_URL for programs that fill the cache.",
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
        "“torchkeeper server” says what you may do there.",
    ),
    "server-nearly-full": Words(
        "The memory of {place} is nearly full: {used_bytes} of {max_bytes}.",
        "It evicts nothing that PyTorch writes ({policy}): when it is full, it refuses writes, and "
        "PyTorch keeps nothing there any more.",
        "Set maxmemory-policy to allkeys-lru on the server, or purge what was not used for a long "
        "time.",
    ),
    "server-no-limit": Words(
        "{place} has no limit of memory.",
        "PyTorch never sets an expiry: the server grows until its machine has no memory left.",
        "Set maxmemory on the server, and maxmemory-policy allkeys-lru.",
    ),
    "server-evicts-nothing": Words(
        "{place} evicts only keys with an expiry ({policy}), and PyTorch sets none.",
        "When its memory is full it refuses writes, and PyTorch keeps nothing there any more.",
        "Set maxmemory-policy to allkeys-lru on the server, or let entries expire: “torchkeeper "
        "ttl {place} 30d”.",
    ),
    "server-evicting": Words(
        Forms(
            "{place} evicts entries: {evicted} key since its start.",
            "{place} evicts entries: {evicted} keys since its start.",
            "evicted",
        ),
        "Its memory is full. PyTorch compiles evicted entries again.",
        "Give it more memory, or purge what is stale: “torchkeeper purge --suggest”.",
    ),
    "server-never-expires": Words(
        Forms(
            "Nothing on {place} ever expires: {keys} key.",
            "Nothing on {place} ever expires: {keys} keys.",
            "keys",
        ),
        "PyTorch sets no expiry, and this server does not evict: a stale entry stays for ever.",
        "“torchkeeper ttl {quoted} 30d” lets the entries expire.",
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
            "It was made by another torch or for another device: every program compiles again. "
            "It takes {size_bytes} on disk. “torchkeeper check” says why.",
            "They were made by another torch or for another device: every program compiles again. "
            "They take {size_bytes} on disk. “torchkeeper check” says why for each.",
        )
    ),
    "some-stale": WORDS["some-stale"]._replace(
        why=Forms(
            "It was made by another torch or for another device. It takes {size_bytes} on disk. "
            "“torchkeeper check” says why.",
            "They were made by another torch or for another device. They take {size_bytes} on "
            "disk. “torchkeeper check” says why for each.",
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
    "trash-leftovers": "Move files that ended programs left to the trash of {place}: {entries}, "
    "{size}.",
    "chmod": "Forbid others to write to {files} in {place}: {paths}. Mode {modes} loses the w of "
    "group and others. You cannot undo this.",
    "chmod-above": "Forbid others to write to {above}, the folder above {place}. Mode {modes} "
    "loses the w of group and others. You cannot undo this.",
    "touch": "Set the time of {files} in {place} to now: {paths}. You cannot undo this.",
    "prepare": "Let PyTorch build its precompiled C++ header, about 150 MB.",
}
