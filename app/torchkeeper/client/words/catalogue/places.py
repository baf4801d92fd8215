"""Words for what goes wrong with places, their entries, the trash, filters and the window."""

from torchkeeper.client.words.catalogue.words import ROOM, UNWRITABLE, Forms, Words
from torchkeeper.client.words.tongue import Text

_NO_DISPLAY: Text = (
    "Every command works without one: “torchkeeper help” lists them, and “torchkeeper "
    "overview” is a first. For the window, log in with “ssh -X”; “torchkeeper shots DIR” "
    "draws pictures of it without a display, as does QT_QPA_PLATFORM=offscreen."
)

WORDS: dict[str, Words] = {
    # Processes
    "processes-untold": Words(
        "Torchkeeper cannot look at running processes.",
        "This system has no /proc that lists them, as Linux has.",
        "Ask about an interpreter instead: --env PYTHON.",
    ),
    "process-gone": Words(
        "There is no process {pid}.",
        "It has ended, or you mistyped the number. A process in a container has another number "
        "outside.",
        "“torchkeeper config processes” lists those with torch.",
    ),
    "process-kernel": Words("Process {pid} is a thread of the kernel, and runs no program."),
    "process-of-other": Words(
        "Torchkeeper cannot look into process {pid}.",
        "Another user runs it, or it forbids others to look into it.",
        "Ask as the user that runs it.",
    ),
    "process-not-python": Words(
        "Process {pid}, {name}, does not run Python.",
        remedy="“torchkeeper config processes” lists those with torch.",
    ),
    # Places
    "place-missing": Words(
        "There is no folder {place}.",
        "It was removed, or the path is mistyped.",
        "Check the path; {caches}.",
    ),
    "vllm-keys-none": Words(
        "{place} has no key of vLLM.",
        "vLLM writes what its keys are made of into cache_key_factors.json, since 0.12.0; SGLang "
        "writes it nowhere.",
        "Name a folder of torch_compile_cache, or what is above or below one. Of SGLang's, "
        "“torchkeeper check” says what an interpreter finds, and “torchkeeper explain FOLDER KEY "
        "--nearest --in FOLDER2” how a graph of one differs from those of another.",
    ),
    "vllm-factors-damaged": Words(
        "Nobody can tell who finds what lies beside it.",
        "It is no list of factors, or was cut off.",
    ),
    "place-not-folder": Words(
        "{place} is not a folder.", remedy="Name the folder of a cache, or a bundle."
    ),
    "path-not-absolute": Words("{path} is not an absolute path.", remedy="Give the whole path."),
    "place-unreadable": Words(
        "{place} cannot be read.", "{why}.", "Check its owner and permissions."
    ),
    "place-stuck": Words(
        "{place} does not answer.",
        "It did not answer for {seconds} seconds; its disk or server may hang.",
        "Try again when it answers. “mount” and “df” show its disk.",
    ),
    "place-same": Words(
        "{place} is another name of {other}.", "It is counted there.", "Look at {other}."
    ),
    "place-within": Words(
        "{place} lies in {other}.", "What it holds is counted there.", "Look at {other}."
    ),
    "place-no-cache": Words(
        "{place} is not a cache.",
        "Most of it ({size_bytes} of {total_bytes}) is files that PyTorch, Triton and vLLM do not "
        "write, so Torchkeeper purges nothing.",
        "Name the cache folder itself. If a cache lies right here, name the kinds to purge: "
        "--filter kind:fxgraph,aotautograd,code,triton.",
    ),
    "place-undescribed": Words(
        "{place} is the cache of the {cache}, and Torchkeeper purges nothing in it.",
        "Nobody has published what its files are ({size_bytes}), so none is taken for an entry.",
        "It removes old ones by itself: CUDA_CACHE_MAXSIZE says how much it keeps. To free the "
        "room, end the programs that use it and remove the folder: it is filled again.",
    ),
    "place-not-server": Words(
        "{place} is not a Redis server.", remedy="Give an address such as redis://localhost:6379/0."
    ),
    "place-unwritable": Words(
        "{place} cannot be written.",
        "{why}.",
        "Check its owner and permissions, and that its file system is not read-only.",
    ),
    "place-blank": Words(
        "Nothing can be compiled into {place}.",
        "Its path has a space, a quote or a backslash, and PyTorch does not quote paths for the "
        "C++ compiler.",
        "Choose a folder without them, or make a link to it without them: "
        "ln -s {quoted} ~/torch-cache",
    ),
    "place-protected": Words(
        "{place} is read-only.",
        "You protected it: neither the window nor a command changes it.",
        "Allow changes again with File > Read-only, or with “torchkeeper places --unprotect”.",
    ),
    "place-within-protected": Words(
        "{place} is read-only.",
        "You protected {protected}: it is the same place, lies in it, or holds it.",
        "Allow changes again with File > Read-only, or with “torchkeeper places --unprotect”.",
    ),
    "protection-unreadable": Words(
        "The list of read-only places cannot be read, so Torchkeeper changes nothing.",
        "{file} cannot be used: {why}.",
        "Repair the file. Without it, no place is read-only.",
    ),
    "protection-unwritable": Words(
        "The list of read-only places could not be kept.", UNWRITABLE, ROOM
    ),
    "place-busy": Words(
        "Another Torchkeeper is changing {place}.",
        "{under_way}",
        "Wait until that has finished, then try again.",
    ),
    "not-taken-back": Words(
        "The job was ended before it took back its changes.",
        "It did not answer; the disk may hang.",
        "A record in {place} lists its changes. The next change of that folder takes them back, "
        "and so do “Complete it” in the window and “torchkeeper recover”. Beside a bundle, remove "
        "files named .torchkeeper-….tmp.",
    ),
    "not-ended": Words(
        "The job was ended before it was done.",
        "It did not answer; the disk or the server may hang.",
        "Its changes in {place} stay. If it was cut off in a folder, the next change of that "
        "folder completes it, and so do “Complete it” in the window and “torchkeeper recover”.",
    ),
    "place-unfinished": Words(
        "{place} cannot be changed: a change was cut off there, and Torchkeeper cannot complete "
        "it.",
        "{why}.",
        "Check the folder's permissions, and that its disk is not full, then try again. {file} "
        "lists what is left to do; if you remove it, everything stays as it is.",
    ),
    "undo-full": Words(
        "{place} is full.",
        Forms(
            "There is no room to put everything back: {entries} entry is back, the others stay in "
            "the trash.",
            "There is no room to put everything back: {entries} entries are back, the others stay "
            "in the trash.",
            "entries",
        ),
        "Free some room, then undo once more.",
    ),
    "disk-full": Words(
        "{place} is full.",
        "The file system has no room left. Torchkeeper took back what it had placed.",
        "Free some room, for example by emptying the trash, and try again.",
    ),
    "link-in-place": Words(
        "{path} is a symbolic link.",
        "Torchkeeper never follows links inside a cache: they could lead anywhere.",
        "Replace the link by a folder.",
    ),
    "folder-unreadable": Words("{path} cannot be read.", "{why}.", "Check its permissions."),
    # The window
    "display-missing": Words(
        "There is no display to open the window on.",
        "Neither DISPLAY nor WAYLAND_DISPLAY is set, as in a container, or over ssh.",
        _NO_DISPLAY,
    ),
    "display-silent": Words(
        "The display {display} does not answer.",
        "DISPLAY or WAYLAND_DISPLAY names it. It does not run, or it does not accept you, as after "
        "“su”, or in a session that has ended.",
        _NO_DISPLAY,
    ),
    "display-unknown": Words(
        "Qt has no platform {name}.",
        "QT_QPA_PLATFORM names it.",
        "Unset QT_QPA_PLATFORM, or set it to xcb, wayland or offscreen.",
    ),
    "qt-library-missing": Words(
        "The library {library} is not installed, and the window needs it.",
        "The app brings Qt's libraries, but not the libraries of the system that Qt uses.",
        "On Debian and Ubuntu: {install}. Every command works without it: “torchkeeper help” lists "
        "them.",
    ),
    "qt-missing": Words(
        "The window needs PySide6, which is not installed.",
        "You installed the app without its extra gui.",
        "{install}. Every command works without it: “torchkeeper help” lists them.",
    ),
    # Entries
    "payload-unreadable": Words(
        "The content cannot be read.",
        "It is cut off or damaged, or its name belongs to another kind of file.",
        "Purge it: PyTorch cannot use it either.",
    ),
    "jit-of-named": Words(
        "PyTorch does not look for this extension there.",
        "It comes from a folder that TORCH_EXTENSIONS_DIR named; the default has a folder for each "
        "Python and CUDA, and nothing tells which this one is for.",
        "Import it into a folder that TORCH_EXTENSIONS_DIR names.",
    ),
    "jit-of-default": Words(
        "PyTorch does not look for this extension there.",
        "It comes from the default folder, which has one for each Python and CUDA; a folder that "
        "TORCH_EXTENSIONS_DIR names has none of these.",
        "Import it where that variable is not set, or name the folder py… in it.",
    ),
    "payload-empty": Words(
        "The file is empty.", "Its writer was probably interrupted.", "Purge it."
    ),
    "payload-too-large": Words(
        "The content is too large to be read.",
        "It does not fit into the memory of a reader; the entry itself may be good.",
    ),
    "value-large": Words(
        "The value is large, and the list did not fetch it.",
        "Only the key and the size are known; the entry itself may be good.",
        "Look at the entry in the inspector or with “show”, which read it.",
    ),
    "entry-unread": Words(
        "It was not read: the time limit of its place ran out.",
        "The limit depends on the size of the place; real entries need much less time. Only the "
        "files of this entry are known, and it may be good.",
        "Look at it in the inspector or with “show”, or read the whole place with “ls --read-all”.",
    ),
    "file-hollow": Words(
        "It was not read: most of the file has no data on the disk.",
        "No program writes such an entry; such parts read as zeros.",
        "Find out where it comes from. “ls --read-all” reads it anyway.",
    ),
    "reader-starved": Words(
        "It could not be read: the machine is too busy.",
        "The reader got almost no processor time; the entry may be good.",
        "Look again when the machine is less busy.",
    ),
    "payload-name-mismatch": Words(
        "The content does not match the name of the file.",
        "PyTorch names a payload after its SHA-256; this one was cut off or changed later.",
        "Purge it, unless you know why it was changed.",
    ),
    "reader-stuck": Words(
        "Reading it took too long and was stopped.",
        "No real entry takes two seconds: it is damaged or malicious.",
        "Purge it.",
    ),
    "reader-crashed": Words(
        "Reading it crashed the reader.",
        "No real entry does that: it is damaged or malicious.",
        "Purge it.",
    ),
    "object-truncated": Words(
        "The shared object is not complete.",
        "Its build was interrupted. PyTorch loads it as it is, and fails.",
        "Purge it; PyTorch will build it again.",
    ),
    "triton-incomplete": Words(
        "Files of this kernel are missing.",
        "Its group file lists files that are not there, so Triton will compile it again.",
        "Purge it.",
    ),
    "library-missing": Words(
        "The library of this kernel is missing.",
        "PyTorch then uses no kernel of this operator from the cache, and compiles again.",
        "Purge it.",
    ),
    # Orphans
    "graph-gone": Words(
        "An FX graph that it needs is not in this place.",
        "Without it the entry is a miss, unless PyTorch finds the graph in another place.",
        "Purge it, unless another place holds its graph: a Redis, or a cache folder.",
    ),
    "code-unnamed": Words(
        "No FX graph in this place names this code.",
        "Its graph was removed, or PyTorch did not keep it.",
        "Purge it: PyTorch writes it again if it needs it.",
    ),
    "library-unlisted": Words(
        "No list of eager kernels names this.",
        "PyTorch finds these libraries only through lists. Its list was removed, or a compile was "
        "cut off.",
        "Purge it: no program can find it.",
    ),
    "left-behind": Words(
        "It is older than a day.",
        "Locks and temporary files serve a writer for seconds. PyTorch never removes its locks: "
        "every cache has them, and they do no harm.",
        "Keep it or purge it, as you like. A purge keeps what a process holds.",
    ),
    "file-unreadable": Words(
        "One of its files cannot be read.", remedy="Check its owner and permissions."
    ),
    "not-a-file": Words(
        "It is not a regular file.",
        "It is a symbolic link, a socket or a device. Torchkeeper follows no links.",
    ),
    "checksum-wrong": Words(
        "The content does not match the manifest.",
        "The file was damaged or changed after the bundle was made.",
        "Get the bundle again from its maker.",
    ),
    "entry-gone": Words("{path} is not there any more.", remedy="Refresh the list."),
    "text-unknown": Words("The entry has no text “{name}”.", remedy="Refresh the list."),
    "key-unknown": Words(
        "No entry in {place} has a key that starts with “{key}”.",
        remedy="“torchkeeper ls” lists the keys.",
    ),
    "key-ambiguous": Words(
        "{count} keys start with “{key}”.", "The first is {first}.", "Give more of the key."
    ),
    # Two entries compared
    "kinds-differ": Words(
        "An entry of kind “{kind}” cannot be compared with one of kind “{other_kind}”.",
        "Their keys have different factors.",
        "Choose two entries of one kind.",
    ),
    "nothing-recorded": Words(
        "Entries of kind “{kind}” record nothing that could be compared.",
        "Neither their name nor their content tells the factors of their key.",
        "FX graphs, AOTAutograd entries, Triton kernels and autotune results can be compared. What "
        "makes keys of vLLM differ, the inspector says, and explain of two of their folders.",
    ),
    "nothing-near": Words(
        "There is no other entry of kind “{kind}” to compare {key} with.",
        remedy="Look in more places: --in names one on the command line, the window looks in all "
        "on its list.",
    ),
    "factors-missing": Words(
        "The factors of the key {key} are not recorded.",
        "The version of PyTorch that made the entry did not record them.",
        "Choose a second entry to compare what is known about both.",
    ),
    "entry-damaged": Words("The entry {key} is broken.", "The factors of its key cannot be read."),
    # Trash
    "nothing-to-undo": Words("There is nothing to undo in {place}.", "Its trash is empty."),
    "trash-foreign": Words(
        "The trash of {place} belongs to somebody else, who can change what lies in it.",
        remedy="Look at what is in {file}, then remove it; or purge without the trash, with --now.",
    ),
    "trash-not-folder": Words(
        "The trash of {place} is not a folder.", "Something else has its name.", "Remove that."
    ),
    "trash-full": Words(
        "Nothing can be moved to the trash of {place}: the disk is full.",
        "Moving needs a little room for its records.",
        "Remove for good (--now), or free some room first.",
    ),
    "trash-unremovable": Words(
        "The trash of {place} could not be emptied.", "{why}.", "Check its permissions."
    ),
    "plan-unknown": Words(
        "The purge was not carried out.", "Its preview is out of date.", "Look at it again."
    ),
    "look-unknown": Words(
        "The results are out of date.", "The engine that found them has restarted.", "Look again."
    ),
    "bad-size": Words(
        "“{text}” is not a size.",
        "It must be a number of at least 0, with a unit: B, k, M, G, T, or KiB, MiB, GiB, TiB.",
        "For example 10G, or 1.5GiB.",
    ),
    "bad-age": Words(
        "“{text}” is not an age.",
        "It must be a number of at least 0, with a unit: s, m, h, d, w, y; by default days.",
        "For example 30d, or 12h.",
    ),
    # Filters
    "bad-filter": Words(
        "The filter is not valid at “{token}”.",
        "{why}",
        "Plain words look in names and keys. Others are kind:fxgraph, size>10M, age>30d, "
        "torch:2.9, device:cpu and is:stale. A leading - negates a word.",
    ),
}
