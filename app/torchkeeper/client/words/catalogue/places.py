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
        "Running processes cannot be looked at.",
        "This system does not tell of them under /proc, as Linux does.",
        "Ask about an interpreter instead: --env PYTHON.",
    ),
    "process-gone": Words(
        "There is no process {pid}.",
        "It has ended, or the number is mistyped; one in a container has another number outside.",
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
        "Check the path; “torchkeeper places” lists the caches of this machine.",
    ),
    "place-not-folder": Words(
        "{place} is not a folder.", remedy="Give the folder of a cache, or a bundle to look into."
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
        "write, so nothing goes.",
        "Name the cache folder itself. If a cache lies right here, name the kinds to purge: "
        "--filter kind:fxgraph,aotautograd,code,triton.",
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
        "Its path has a blank, a quote or a backslash, and PyTorch does not quote what it hands to "
        "the C++ compiler.",
        "Choose a folder without them, or name a link without them that leads to it: "
        "ln -s {quoted} ~/torch-cache",
    ),
    "place-protected": Words(
        "{place} is read-only.",
        "You protected it: neither the window nor a command changes it.",
        "Allow changes again with File > Read-only, or with “torchkeeper places --unprotect”.",
    ),
    "place-within-protected": Words(
        "{place} is read-only.",
        "It is the same place as {protected}, lies in it or holds it, and you marked that so.",
        "Allow changes again with File > Read-only, or with “torchkeeper places --unprotect”.",
    ),
    "protection-unreadable": Words(
        "The list of read-only places cannot be read, so nothing is changed.",
        "{file} cannot be used: {why}.",
        "Repair the file. Without it, no place is read-only.",
    ),
    "protection-unwritable": Words(
        "The list of read-only places could not be kept.", UNWRITABLE, ROOM
    ),
    "place-busy": Words(
        "Another Torchkeeper is changing {place}.",
        remedy="Wait until that has finished, then try again.",
    ),
    "not-taken-back": Words(
        "The job was ended before it had taken back what it had done.",
        "It did not answer; the disk may hang.",
        "What it did in {place} is written down: the next change of that folder takes it back, and "
        "so does “Complete it” when it is shown, or “torchkeeper recover”. Beside a bundle, remove "
        "files named .torchkeeper-….tmp.",
    ),
    "not-ended": Words(
        "The job was ended before it had come to its end.",
        "It did not answer; the disk or the server may hang.",
        "What it did in {place} by then stays. What was cut off in a folder is brought to its end "
        "by the next change of it, by “Complete it” when it is shown, or by “torchkeeper recover”.",
    ),
    "place-unfinished": Words(
        "{place} cannot be changed: something was cut off there, and cannot be brought to its end.",
        "{why}.",
        "Check the folder's permissions, and that its disk is not full, then try again. What is "
        "left to be done is in {file}; removed, it is left as it is.",
    ),
    "undo-full": Words(
        "{place} is full.",
        Forms(
            "There is no room to put everything back: {entries} entry is, the others stay in the "
            "trash.",
            "There is no room to put everything back: {entries} entries are, the others stay in "
            "the trash.",
            "entries",
        ),
        "Free some room, then undo once more.",
    ),
    "disk-full": Words(
        "{place} is full.",
        "The file system has no room left; what had been placed was taken back.",
        "Free some room, for example by emptying the trash, and try again.",
    ),
    "link-in-place": Words(
        "{path} is a symbolic link.",
        "Links inside a cache are never followed: they could lead anywhere.",
        "Replace the link by a folder.",
    ),
    "folder-unreadable": Words("{path} cannot be read.", "{why}.", "Check its permissions."),
    # The window
    "display-missing": Words(
        "There is no display to open the window on.",
        "Neither DISPLAY nor WAYLAND_DISPLAY names one, as in a container, or over ssh.",
        _NO_DISPLAY,
    ),
    "display-silent": Words(
        "The display {display} does not answer.",
        "DISPLAY or WAYLAND_DISPLAY names it: nobody is there, or nobody who takes you in, as "
        "after “su”, or in a session that has ended.",
        _NO_DISPLAY,
    ),
    "display-unknown": Words(
        "Qt has no platform {name}.",
        "QT_QPA_PLATFORM names it.",
        "Unset QT_QPA_PLATFORM, or set it to xcb, wayland or offscreen.",
    ),
    "qt-library-missing": Words(
        "The library {library} is not installed, and the window needs it.",
        "Qt's libraries come with the app; those of the system that they use do not.",
        "On Debian and Ubuntu: {install}. Every command works without it: “torchkeeper help” lists "
        "them.",
    ),
    "qt-missing": Words(
        "The window needs PySide6, which is not installed.",
        "The app was installed without its extra gui.",
        "{install}. Every command works without it: “torchkeeper help” lists them.",
    ),
    # Entries
    "payload-unreadable": Words(
        "The content cannot be read.",
        "It is truncated, damaged, or not what its place in the cache says.",
        "Purge it: PyTorch cannot use it either.",
    ),
    "payload-empty": Words(
        "The file is empty.", "Its writer was probably interrupted.", "Purge it."
    ),
    "payload-too-large": Words(
        "The content is too large to be read.",
        "It would not fit the memory of a reader; the entry itself may be good.",
    ),
    "value-large": Words(
        "The value is large, and was not fetched for the list.",
        "Only the key and the size are known; the entry itself may be good.",
        "Look at the entry alone, in the inspector or with “show”: then it is read.",
    ),
    "entry-unread": Words(
        "It was not read: the time limit of its place ran out.",
        "The size of a place on the disk sets its time limit, many times what real entries need; "
        "only the files of this entry are known, and it may be good.",
        "Read it alone, in the inspector or with “show”, or read the whole place with “ls "
        "--read-all”.",
    ),
    "file-hollow": Words(
        "It was not read: most of the file is a hole, with no data on the disk.",
        "No program writes such an entry; a hole reads as zeros.",
        "Find out where it comes from. “ls --read-all” reads it anyway.",
    ),
    "reader-starved": Words(
        "It could not be read: the machine is too busy.",
        "The reader got almost no processor time; the entry may be good.",
        "Look again when the machine is less busy.",
    ),
    "payload-name-mismatch": Words(
        "The content does not match the name of the file.",
        "PyTorch names a payload after its SHA-256; this one was cut or changed afterwards.",
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
        "Its build was interrupted. PyTorch would load it as it is, and fail.",
        "Purge it; PyTorch will build it again.",
    ),
    "triton-incomplete": Words(
        "Files of this kernel are missing.",
        "Its group file lists files that are not there, so Triton will compile it again.",
        "Purge it.",
    ),
    "library-missing": Words(
        "The library of this kernel is missing.",
        "PyTorch takes no kernel of this operator from the cache then, and compiles again.",
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
        "Its graph was removed, or was one that PyTorch does not keep.",
        "Purge it: PyTorch writes it again if it needs it.",
    ),
    "library-unlisted": Words(
        "No list of eager kernels names this.",
        "PyTorch finds these libraries through the lists alone: its list was removed, or a compile "
        "was cut off.",
        "Purge it: no program can find it.",
    ),
    "left-behind": Words(
        "It is older than a day.",
        "Locks and temporary files serve a writer for seconds. PyTorch never removes its locks: "
        "every cache has them, and they do no harm.",
        "Keep it or purge it, as you like; what a process holds is never taken.",
    ),
    "file-unreadable": Words(
        "A file of it cannot be read.", remedy="Check its owner and permissions."
    ),
    "not-a-file": Words(
        "It is not a regular file.",
        "A symbolic link, a socket or a device; links are never followed.",
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
        "Their keys are made of other things.",
        "Choose two entries of one kind.",
    ),
    "nothing-recorded": Words(
        "Entries of kind “{kind}” record nothing that could be compared.",
        "What their key was made of is in neither their name nor their content.",
        "FX graphs, AOTAutograd entries, Triton kernels and autotune results can be compared.",
    ),
    "nothing-near": Words(
        "There is no other entry of kind “{kind}” to compare {key} with.",
        remedy="Look in more places: --in names one on the command line, the window looks in all "
        "on its list.",
    ),
    "factors-missing": Words(
        "What the key {key} was made of is not recorded.",
        "The version of PyTorch that made the entry did not write it down.",
        "Choose a second entry to compare what is known of both.",
    ),
    "entry-damaged": Words(
        "The entry {key} is broken.", "What its key was made of cannot be read from it."
    ),
    # Trash
    "nothing-to-undo": Words("There is nothing to undo in {place}.", "Its trash is empty."),
    "trash-foreign": Words(
        "The trash of {place} belongs to somebody else, who could change what lies in it.",
        remedy="Look at what is in {file}, then remove it; or purge without the trash, with --now.",
    ),
    "trash-not-folder": Words(
        "The trash of {place} is not a folder.", "Something else has its name.", "Remove that."
    ),
    "trash-full": Words(
        "Nothing can be moved to the trash of {place}: the disk is full.",
        "Moving needs a little room for its records.",
        "Remove at once (--now), or free some room first.",
    ),
    "trash-unremovable": Words(
        "The trash of {place} could not be emptied.", "{why}.", "Check its permissions."
    ),
    "plan-unknown": Words(
        "The purge was not carried out.", "Its preview is out of date.", "Look at it again."
    ),
    "look-unknown": Words(
        "The results are out of date.", "The engine that looked was started anew.", "Look again."
    ),
    "bad-size": Words(
        "“{text}” is not a size.",
        "A number of at least 0 is expected, with a unit: B, k, M, G, T, or KiB, MiB, GiB, TiB.",
        "For example 10G, or 1.5GiB.",
    ),
    "bad-age": Words(
        "“{text}” is not an age.",
        "A number of at least 0 is expected, with a unit: s, m, h, d, w, y; days without one.",
        "For example 30d, or 12h.",
    ),
    # Filters
    "bad-filter": Words(
        "The filter is not valid at “{token}”.",
        "{why}",
        "Plain words match name and key; kind:fxgraph, size>10M, age>30d, torch:2.9, device:cpu, "
        "is:stale; a leading - negates.",
    ),
}
