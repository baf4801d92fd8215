"""The words for every problem an engine can report: what happened, why, and what to do.

An engine sends only a code and its parameters; nothing an entry contains is ever shown as if the
app had said it. The window and the command line both take their words from here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import NamedTuple

from torchkeeper.artifacts.masking import without_logins
from torchkeeper.link.words import kinds, say
from torchkeeper.link.words.recipewords import expectation
from torchkeeper.link.words.tongue import Text, form, several, tr
from torchkeeper.link.words.whys import reworded

#: No disk has more.
_MOST_BYTES = 1 << 63
#: Parameters in which an engine says something in its own words.
_REASONS = ("why", "how", "differs")
#: Those that are kinds of entries.
_KINDS = ("kind", "other_kind")
#: Parameters whose numbers are names of something, or exactly what somebody wrote: all others are
#: counts, and written 12,000.
_NAMES = frozenset(
    {"pid", "line", "column", "offset", "character", "status", "signal", "port", "version", "code",
     "value", "text", "token", "setting"}
)  # fmt: skip


class UserError(Exception):
    """What happened, why, and what the user can do about it."""

    def __init__(
        self,
        what: str,
        why: str = "",
        remedy: str = "",
        *,
        code: str = "",
        params: Mapping[str, object] | None = None,
    ) -> None:
        # What was typed may be a mistyped address with a password in it, and an error is read by
        # others: on a terminal, in a log, in the history of jobs.
        what, why, remedy = map(without_logins, (what, why, remedy))
        # It is one line: a name with several would say something of its own in the next.
        what = printable(what, len(what))
        super().__init__(what)
        self.what = what
        self.why = why
        self.remedy = remedy
        self.code = code
        self.params = {
            name: without_logins(value) if isinstance(value, str) else value
            for name, value in (params or {}).items()
        }

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.remedy) if part)


class Forms(NamedTuple):
    """A template that goes with a number: a parameter, or the sum of several, ``files+locks``."""

    of: str
    one: str
    many: str


class Words(NamedTuple):
    """Templates for one code; ``{name}`` stands for a parameter."""

    what: str | Forms
    why: str | Forms = ""
    remedy: str | Forms = ""

    @property
    def texts(self) -> list[str]:
        """All that it may say."""
        every = [(one,) if isinstance(one, str) else (one.one, one.many) for one in self]
        return [text for some in every for text in some]


CATALOGUE: dict[str, Words] = {
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
        "Process {pid} cannot be looked into.",
        "It is another user's, or keeps itself from being looked into.",
        "Ask as the user that runs it.",
    ),
    "process-not-python": Words(
        "Process {pid}, {name}, does not run Python.",
        "",
        "“torchkeeper config processes” lists those with torch.",
    ),
    # Places
    "place-missing": Words(
        "There is no folder {place}.",
        "It was removed, or the path is mistyped.",
        "Check the path; “torchkeeper places” lists the caches of this machine.",
    ),
    "place-not-folder": Words(
        "{place} is not a folder.", "", "Give the folder of a cache, or a bundle to look into."
    ),
    "path-not-absolute": Words("{path} is not an absolute path.", "", "Give the whole path."),
    "place-unreadable": Words(
        "{place} cannot be read.", "{why}.", "Check its owner and permissions."
    ),
    "place-stuck": Words(
        "{place} does not answer.",
        "It gave no sign of life for {seconds} seconds; its disk or server may hang.",
        "Look again when it answers. “mount” and “df” tell which disk it is on.",
    ),
    "place-same": Words(
        "{place} is another name of {other}.", "It is counted there.", "Look at {other}."
    ),
    "place-within": Words(
        "{place} lies in {other}.", "What it holds is counted there.", "Look at {other}."
    ),
    "place-no-cache": Words(
        "{place} is no cache.",
        "Most of it ({size_bytes} of {total_bytes}) is nothing that PyTorch, Triton or vLLM "
        "writes, so nothing of it goes.",
        "Name the cache folder itself. If a cache lies right here, name what is to go: "
        "--filter kind:fxgraph,aotautograd,code,triton.",
    ),
    "place-not-server": Words(
        "{place} is not a Redis server.", "", "Give an address such as redis://localhost:6379/0."
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
        "You marked it so: nothing is changed in it, by the window or by a command.",
        "Allow changes again with File > Read-only, or with “torchkeeper places --unprotect”.",
    ),
    "place-within-protected": Words(
        "{place} is read-only.",
        "It is the same place as {protected}, lies in it or holds it, and you marked that so.",
        "Allow changes again with File > Read-only, or with “torchkeeper places --unprotect”.",
    ),
    "protection-unreadable": Words(
        "Which places are read-only is not known, so nothing is changed.",
        "{file} cannot be used: {why}.",
        "Repair the file. Without it, no place is read-only.",
    ),
    "protection-unwritable": Words(
        "The list of read-only places could not be kept.",
        "{file} cannot be written: {why}.",
        "Check the folder's permissions, and that its disk is not full.",
    ),
    "place-busy": Words(
        "{place} is being changed by another Torchkeeper.",
        "",
        "Wait until that has finished, then try again.",
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
            "entries",
            "There is no room to put everything back: {entries} entry is, the others stay in the "
            "trash.",
            "There is no room to put everything back: {entries} entries are, the others stay in "
            "the trash.",
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
        "Every command works without one: “torchkeeper help” lists them, and “torchkeeper "
        "overview” is a first. For the window, log in with “ssh -X”; “torchkeeper shots DIR” "
        "draws pictures of it without a display, as does QT_QPA_PLATFORM=offscreen.",
    ),
    "display-silent": Words(
        "The display {display} does not answer.",
        "DISPLAY or WAYLAND_DISPLAY names it: nobody is there, or nobody who takes you in, as "
        "after “su”, or in a session that has ended.",
        "Every command works without one: “torchkeeper help” lists them, and “torchkeeper "
        "overview” is a first. For the window, log in with “ssh -X”; “torchkeeper shots DIR” "
        "draws pictures of it without a display, as does QT_QPA_PLATFORM=offscreen.",
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
        "pip install 'torchkeeper[gui]'. Every command works without it: “torchkeeper help” lists "
        "them.",
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
        "",
    ),
    "value-large": Words(
        "The value is large, and was not fetched for the list.",
        "Only the key and the size are known; the entry itself may be good.",
        "Look at the entry alone, in the inspector or with “show”: then it is read.",
    ),
    "entry-unread": Words(
        "It was not read: that would take longer than its place is given.",
        "A place gets time for reading by its size on the disk, many times what an honest one "
        "needs; nothing is known of this entry but its files, and it may be good.",
        "Look at it alone, in the inspector or with “show”, or read all of the place with "
        "“ls --read-all”.",
    ),
    "file-hollow": Words(
        "It was not read: most of the file is a hole, and not on the disk.",
        "No program writes an entry so; what is not there reads as zeros.",
        "See where it comes from. “ls --read-all” reads it all the same.",
    ),
    "reader-starved": Words(
        "It could not be read: the machine is too busy.",
        "The reader was hardly given the processor; that says nothing of the entry.",
        "Look again when the machine is less busy.",
    ),
    "payload-name-mismatch": Words(
        "The content is not what the file's name says.",
        "PyTorch names a payload after its SHA-256; this one was cut or changed afterwards.",
        "Purge it, unless you know why it was changed.",
    ),
    "reader-stuck": Words(
        "Reading it took too long and was stopped.",
        "No real entry takes two seconds: it is damaged or was made to do harm.",
        "Purge it.",
    ),
    "reader-crashed": Words(
        "Reading it crashed the reader.",
        "No real entry does that: it is damaged or was made to do harm.",
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
        "Purge it: if it is needed once more, PyTorch writes it again.",
    ),
    "library-unlisted": Words(
        "No list of eager kernels names this.",
        "PyTorch finds these libraries through the lists alone: its list was removed, or a compile "
        "was cut off.",
        "Purge it: nothing can find it any more.",
    ),
    "left-behind": Words(
        "It is older than a day.",
        "Locks and temporary files serve a writer for seconds. PyTorch never removes its locks: "
        "every cache has them, and they do no harm.",
        "Keep it or purge it, as you like; what a process holds is never taken.",
    ),
    "file-unreadable": Words(
        "A file of it cannot be read.", "", "Check its owner and permissions."
    ),
    "not-a-file": Words(
        "It is not a regular file.",
        "A symbolic link, a socket or a device; links are never followed.",
        "",
    ),
    "checksum-wrong": Words(
        "The content is not what the manifest promises.",
        "The file was damaged or changed after the bundle was made.",
        "Get the bundle again from where it was made.",
    ),
    "entry-gone": Words("{path} is not there any more.", "", "Refresh the list."),
    "text-unknown": Words("The entry has no text “{name}”.", "", "Refresh the list."),
    "key-unknown": Words(
        "No entry in {place} has a key that starts with “{key}”.",
        "",
        "“torchkeeper ls” lists the keys.",
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
        "",
        "Look in more places: --in names one on the command line, the window looks in all on its "
        "list.",
    ),
    "factors-missing": Words(
        "What the key {key} was made of is not recorded.",
        "The version of PyTorch that made the entry did not write it down.",
        "Choose a second entry to compare what is known of both.",
    ),
    "entry-damaged": Words(
        "The entry {key} is broken.", "What its key was made of cannot be read from it."
    ),
    # Bundles
    "file-missing": Words("There is no file {file}.", "", "Check the path."),
    "bundle-unreadable": Words("{file} cannot be read.", "{why}.", "Check its permissions."),
    "not-a-bundle": Words(
        "{file} is neither a bundle nor a mega-cache.",
        "It starts like neither of the two.",
        "Choose a .torchcache file, or what torch.compiler.save_cache_artifacts() returned.",
    ),
    "bundle-altered": Words(
        "{file} is not as it was made.",
        "{part} in it is not what its manifest says.",
        "Get it again from where it was made. Nothing was changed.",
    ),
    "bundle-more": Words(
        "{file} is not as it was made.",
        "It holds {part}, which its manifest does not name.",
        "Get it again from where it was made. Nothing was changed.",
    ),
    "bundle-changed": Words(
        "{file} is another file by now.",
        "Somebody replaced it meanwhile.",
        "Start again, and look at what it holds now.",
    ),
    "signature-wrong": Words(
        "The signature of {file} is wrong.",
        "{why}.",
        "Get it again from where it was made. Nothing was changed.",
    ),
    "signature-required": Words(
        "{file} is not imported.",
        "You require signatures, and it is signed {how}.",
        "Have it signed by one of your signers, add whoever signed it with “torchkeeper signers "
        "add”, or allow others again with “torchkeeper signers require off”.",
    ),
    "signers-unreadable": Words(
        "Whose signatures you trust is not known.",
        "{file} cannot be used: {why}.",
        "Repair the file. It is one of allowed signers, as ssh-keygen(1) describes them.",
    ),
    "signers-unwritable": Words(
        "Whose signatures you trust could not be kept.",
        "{file} cannot be written: {why}.",
        "Check the folder's permissions, and that its disk is not full.",
    ),
    "signer-unknown": Words(
        "There is no signer {name}.", "", "“torchkeeper signers list” names them all."
    ),
    "signer-there": Words(
        "There is a signer {name} with this key already.", "", "Nothing was changed."
    ),
    "signer-name": Words(
        "{name} cannot be the name of a signer.",
        "It is empty, or has a blank, a comma, a quote, a star, a question mark, “!” or “#”.",
        "Choose a name such as an address: team@example.org.",
    ),
    "key-unusable": Words(
        "{file} is no key that can be used here.",
        "{why}.",
        "Name a key of OpenSSH: a private one, or the public half of one that ssh-agent or a "
        "hardware token holds. “ssh-keygen -t ed25519” makes one.",
    ),
    "signing-failed": Words(
        "The bundle could not be signed.",
        "{why}.",
        "Check the key and its passphrase. The bundle stays as it was.",
    ),
    "ssh-keygen-missing": Words(
        "Nothing can be signed here.",
        "There is no ssh-keygen on PATH.",
        "Install OpenSSH's client; in Debian the package openssh-client.",
    ),
    "bundle-damaged": Words(
        "{file} is damaged.",
        "{why}.",
        "Get it again from where it was made. Nothing was changed.",
    ),
    "bundle-newer": Words(
        "{file} was made by a newer Torchkeeper.",
        "It has format version {version}.",
        "Update Torchkeeper.",
    ),
    "mega-cache-damaged": Words(
        "{file} is damaged.",
        "The mega-cache cannot be read: {why}.",
        "Get it again from where it was made. Nothing was changed.",
    ),
    "output-unwritable": Words(
        "{file} cannot be written.", "{why}.", "Choose another folder, or free some room."
    ),
    "cache-unwritable": Words(
        "Torchkeeper's own cache folder cannot be written.",
        "{folder}: {why}.",
        "Check its permissions, and that its disk is not full; XDG_CACHE_HOME names another one.",
    ),
    "output-full": Words(
        "There is no room for {file}.",
        "It takes about {needed_bytes}, and its disk has {free_bytes} left; nothing of it was "
        "kept.",
        "Free some room there, or choose another folder.",
    ),
    "output-exists": Words(
        "{file} is there already.",
        "It was not replaced.",
        "Choose another name, or say that it is to be replaced.",
    ),
    "copy-onto-itself": Words(
        "{place} cannot be copied onto itself.", "", "Name another place to copy to."
    ),
    "copy-into-itself": Words(
        "{place} lies within the folder that is to be copied.",
        "The copy would become a part of it.",
        "Name another place to copy to.",
    ),
    # What was left
    "name-refused": Words(
        "Its name is refused.", "“{name}” is no name that an entry of kind {kind} can have."
    ),
    "promised-but-missing": Words("It is in the manifest but not in the bundle.", "{path}"),
    "not-in-manifest": Words("It is in the mega-cache but not in the manifest."),
    "size-wrong": Words("Its size is not what the manifest promises.", "{path}"),
    "type-unknown": Words("Entries of type “{type}” cannot be placed in a folder yet."),
    "secrets-found": Words(
        "Nothing was written, because secrets were found.",
        "Passwords or keys, as it looks: {secrets}, in so many entries: {entries}. Whoever gets "
        "these could read them.",
        "Redact them, leave those entries out, or take them along: Export and Copy to ask which, "
        "and commands have --redact, --without-secrets and --allow-secrets.",
    ),
    "dragged-secrets": Words(
        "Nothing was dragged out, because secrets were found.",
        "Passwords or keys, as it looks: {secrets}, in so many entries: {entries}. What would leak "
        "them is not put into a bundle without asking.",
        "Export asks what is to become of them.",
    ),
    "not-searched": Words(
        "It could not be searched for secrets, and was left out.",
        "It cannot be read: {why}.",
        "Try again, or take what is there unsearched: --allow-secrets.",
    ),
    "has-secrets": Words("It holds secrets, and was left out as you said."),
    "secret-fixed": Words(
        "It holds a secret that cannot be redacted.",
        "The name of what is of kind {kind} is made from all that is in it: with another text "
        "PyTorch would not find it.",
        "Take the secret out of the source that was compiled, and compile it again.",
    ),
    "redaction-breaks": Words(
        "It could not be read any more once its secrets were redacted.",
        "Something it needs looks like a secret.",
        "Compile it again without the secret in the environment.",
    ),
    "kind-not-portable": Words(
        "It is of kind {kind}, which serves this machine only and is made anew elsewhere."
    ),
    "kernel-of-device": Words(
        "It is of use only where it was compiled.",
        "The library of an eager kernel for {device} names the files of its GPU code by their "
        "absolute paths.",
        "Warm it where it is to be used.",
    ),
    "kernel-unloadable": Words(
        "PyTorch could not load it: {why}.",
        "In a list, such an item keeps PyTorch from using any kernel of its operator.",
        "Compile it anew where it is from, or purge it there.",
    ),
    "list-unreadable": Words(
        "The list of kernels that it belongs into cannot be read.",
        "{path}: {why}.",
        "Purge that list if it is of no use; nothing in it was changed.",
    ),
    "list-spoilt": Words(
        "PyTorch would not find it: it takes none of a list of which a library is gone.",
        "{path} names {library}, which is not there.",
        "Purge what is broken there, and try again.",
    ),
    "part-of-artifact": Words(
        "It is part of something that stays where it is.", "{path} is of use only there."
    ),
    "same-place": Words("The same entry is in another cache of this place; that one was taken."),
    "entry-broken": Words("It is broken: {problem}."),
    "entry-changed": Words("It has changed since it was listed."),
    "entry-vanished": Words("It could not be read any more.", "{why}"),
    "in-use": Words("PyTorch is at work on it; it stays.", "", "Try again when that has finished."),
    "entry-in-use": Words(
        "It is in use by {name} (process {pid}); it stays.",
        "",
        "Wait until the process has ended, or insist (--in-use).",
    ),
    "place-in-use": Words(
        "Nothing was purged: {place} is in use.",
        "{name} (process {pid}) runs with it as its cache and may need any entry next.",
        "Wait until the process has ended, or insist (--in-use).",
    ),
    "listed-twice": Words("The manifest lists it twice; the first one counts."),
    "key-taken": Words("Something else is there under the same name; it was kept.", "{path}"),
    "newer-goes": Words("A newer payload of the same key goes; a server has one for each key."),
    "superseded": Words("A later profile in the same file takes its place."),
    "cannot-remove": Words("{path} cannot be removed.", "{why}.", "Check its permissions."),
    "cannot-restore": Words("{path} cannot be put back.", "{why}.", "It stays in the trash."),
    "path-taken": Words(
        "{path} exists again.", "It was written after the purge.", "The old one stays in the trash."
    ),
    # Built objects that stay out of an environment (verdict/objects.py)
    "object-torch": Words(
        "It was built for another torch.",
        "Built for {there}, and here is {here}.",
        "PyTorch builds it anew. To carry it, warm up and export with the same torch.",
    ),
    "object-python": Words(
        "It was built for another Python.",
        "Built for {there}, and here is {here}.",
        "PyTorch builds it anew. To carry it, warm up and export with the same version of Python.",
    ),
    "object-compiler": Words(
        "It was built by another compiler.",
        "Built by {there}, and here is {here}.",
        "PyTorch builds it anew. To carry it, use the same compiler: CXX names one.",
    ),
    "object-libc": Words(
        "It was built for another C library.",
        "Built with {there}, and here is {here}.",
        "PyTorch builds it anew. To carry it, build on the older of the two systems.",
    ),
    "object-command": Words(
        "It was built by another command than PyTorch would use here.",
        "They differ: {differs}.",
        "PyTorch builds it anew, unless the program asks for those options here, too.",
    ),
    "object-cpu": Words(
        "It was built for another CPU.",
        "{differs}.",
        "PyTorch builds it anew. To carry it, warm up and export on a CPU like this one.",
    ),
    "object-misclaimed": Words(
        "It is not what the manifest claims.",
        "It may use {sets}, which the CPU does not have that it is said to be built on.",
        "PyTorch builds it anew. Ask whoever made the bundle.",
    ),
    "object-unproven": Words(
        "It is not known for which CPU it was built.",
        "It records no instruction sets, and the bundle does not tell how it was built.",
        "PyTorch builds it anew. Export it where it was built, with --env and the Python there.",
    ),
    # Redis servers
    "address-wrong": Words(
        "That is not the address of a Redis server.",
        "{why}.",
        "Write redis://host:6379/0, rediss://host:6380/0 for TLS, or unix:///path/to/socket.",
    ),
    "redis-missing": Words(
        "Redis servers cannot be reached from here.",
        "The Python package hiredis is not installed.",
        "Install it beside Torchkeeper: pip install redis[hiredis].",
    ),
    "server-unknown-host": Words(
        "There is no host {host}.",
        "Its name is not known to this machine's name servers.",
        "Check the address.",
    ),
    "server-refused": Words(
        "{server} does not answer.",
        "The host is there, and nothing listens on that port.",
        "Check the port, and that the server runs.",
    ),
    "server-unreachable": Words(
        "{server} cannot be reached.", "{why}.", "Check the network and the address."
    ),
    "server-timeout": Words(
        "{server} does not answer in time.",
        "It is busy, hangs, or a firewall swallows the connection.",
        "Try again later, or check the address.",
    ),
    "socket-missing": Words(
        "There is no socket {path}.",
        "The server does not run, or has its socket elsewhere.",
        "Check “unixsocket” in the server's configuration.",
    ),
    "socket-forbidden": Words(
        "The socket {path} may not be used.",
        "It belongs to another user or group.",
        "Ask for membership in its group, or use TCP.",
    ),
    "certificate-expired": Words(
        "The certificate of {server} is not valid today.",
        "It has expired, or this machine's clock is wrong.",
        "Have the server's certificate renewed.",
    ),
    "certificate-wrong-host": Words(
        "The certificate of {server} is for another host than {host}.",
        "",
        "Use the name that the certificate has, if you are sure that it is the same server.",
    ),
    "certificate-untrusted": Words(
        "The certificate of {server} is not trusted.",
        "The check said: {why}.",
        "Name the CA that signed it: ?ssl_ca_certs=/path/ca.crt.",
    ),
    "certificate-file": Words(
        "The certificate file {file} cannot be used.",
        "{why}.",
        "Check the path, and that key and certificate belong together. A key with a passphrase "
        "cannot be used.",
    ),
    "client-certificate-needed": Words(
        "{server} wants a certificate from us.",
        "It ended the connection: {why}.",
        "Name yours: ?ssl_certfile=/path/client.crt&ssl_keyfile=/path/client.key.",
    ),
    "client-certificate-refused": Words(
        "{server} does not take our certificate.",
        "It ended the connection: {why}.",
        "Use a certificate that is signed by the CA the server trusts, and not expired.",
    ),
    "tls-failed": Words(
        "No secure connection to {server} could be made.", "{why}.", "Check its TLS settings."
    ),
    "server-no-tls": Words(
        "{server} does not speak TLS.",
        "It answers to plain Redis on that port.",
        "Write redis:// instead of rediss://, or give its TLS port.",
    ),
    "server-wants-tls": Words(
        "{server} speaks TLS only.",
        "A plain connection was not understood.",
        "Write rediss:// instead of redis://.",
    ),
    "server-not-redis": Words(
        "{server} does not answer as a Redis does.",
        "Something else may listen on that port.",
        "Check host and port.",
    ),
    "server-unbounded": Words(
        "{server} answers more than it was asked.",
        "An answer of it holds a line, a text or a list that is longer than any Redis would send.",
        "Check host and port: what answers there is broken, or wants to do harm.",
    ),
    "server-endless": Words(
        "{server} never comes to the end of its list of keys.",
        "It goes on and on with what brings nothing new, so what it holds is not known.",
        "Check host and port: what answers there is broken, or wants to do harm.",
    ),
    "server-lost": Words(
        "The connection to {server} was lost.",
        "The server ended, or the network broke.",
        "What was done until then stays. Try again when it is back.",
    ),
    "server-broke-off": Words(
        "The connection to {server} was lost before all was copied.",
        Forms(
            "arrived",
            "{arrived} of {total} entries is known to be in {place}; the server did not come back "
            "in time.",
            "{arrived} of {total} entries are known to be in {place}; the server did not come back "
            "in time.",
        ),
        "What has arrived stays. When the server is back, the same copy goes on from there.",
    ),
    "server-broke-off-bundle": Words(
        "The connection to {server} was lost before all was copied.",
        "A bundle is whole or not at all, so none was written to {file}; the server did not come "
        "back in time.",
        "Try again when the server is back.",
    ),
    "password-needed": Words(
        "{server} wants a password.",
        "",
        "Give the password, and the user if there is one; for a script, in the variable "
        "TORCHKEEPER_REDIS_PASSWORD.",
    ),
    "password-wrong": Words(
        "{server} does not take that user and password.", "", "Check both; case matters."
    ),
    "password-unneeded": Words(
        "{server} has no password, and refuses to be given one.",
        "PyTorch would fail there too, without a word.",
        "Leave the password out.",
    ),
    "database-out-of-range": Words(
        "{server} has no database of that number.",
        "Servers have 16 by default, from 0.",
        "Check the number at the end of the address.",
    ),
    "server-cluster": Words(
        "{server} is a part of a cluster.",
        "Each server of it holds some of the keys, and PyTorch cannot use one either.",
        "Use a server by itself.",
    ),
    "server-loading": Words(
        "{server} is still loading its data.", "It was just started.", "Try again in a moment."
    ),
    "server-stale": Words(
        "{server} has lost the server it repeats.",
        "It is a replica that does not answer until it has it back.",
        "Wait, or use the other server.",
    ),
    "server-full": Words(
        "{server} takes no more connections.",
        "Its “maxclients” is reached.",
        "Close some, or raise the limit.",
    ),
    "server-protected": Words(
        "{server} only answers to its own machine.",
        "It is in protected mode: it has no password.",
        "Have a password set on it.",
    ),
    "server-forbids": Words(
        "{server} does not allow this user to do that.",
        "It said: {why}",
        "Ask for the permission, or use another user.",
    ),
    "server-read-only": Words(
        "{server} takes no changes.",
        "It is a replica: it repeats another server.",
        "Use the server that it repeats.",
    ),
    "server-out-of-memory": Words(
        "{server} has no memory left.",
        "Its “maxmemory” is reached, and its policy throws nothing out.",
        "Purge something there, or have the limit raised.",
    ),
    "server-cannot-save": Words(
        "{server} takes no changes.", "It cannot save them: {why}", "Have its disk looked at."
    ),
    "server-busy": Words(
        "{server} is busy with a script.", "It said: {why}", "Try again in a moment."
    ),
    "server-error": Words("{server} reported an error.", "It said: {why}"),
    "use-unknown": Words(
        "{server} cannot tell when entries were last used.",
        "Before version 7.2 it takes a look for a use; with an lfu policy it only counts uses.",
        "Leave “used” out of the filter, or set an expiry instead.",
    ),
    "times-of-servers": Words(
        "{place} does not know when entries are used or go.",
        "Only a Redis server does.",
        "Filter by age instead: age>30d.",
    ),
    "owner-unknown": Words(
        "{place} does not keep whose its entries are.",
        "Only a folder does; is:foreign and owner: are about the users of this machine.",
        "Leave them out of the filter.",
    ),
    "age-unknown": Words(
        "{place} does not know how old entries are.",
        "Only a folder does: neither a Redis nor a bundle keeps the times of files.",
        "Leave “age” out of the filter. Of a Redis, ask for used>90d or expires<7d instead.",
    ),
    "value-wrong-type": Words(
        "The value is not a string.",
        "Something else than PyTorch wrote it: a list, a set or the like.",
        "Purge it: PyTorch cannot use it.",
    ),
    "value-forbidden": Words(
        "The value may not be read.",
        "The server does not let this user use its key.",
        "Ask for the permission, or use another user.",
    ),
    "value-not-json": Words(
        "The value is not JSON.", "It is damaged, or not PyTorch's.", "Purge it."
    ),
    "value-without-data": Words(
        "The value holds no payload.", "It is JSON, and not what PyTorch writes.", "Purge it."
    ),
    "value-not-base64": Words(
        "The payload in the value cannot be decoded.", "It is damaged base64.", "Purge it."
    ),
    "value-too-large": Words(
        "The value is too large.",
        "A Redis holds at most 512 MB in one, and less where it is told so.",
        "Copy it to a folder.",
    ),
    "redis-only": Words(
        "Only a Redis can hold it.",
        "Its key does not say which file it would be.",
        "",
    ),
    "kind-not-in-redis": Words(
        "A Redis cannot hold it.",
        "PyTorch looks there for graphs, AOTAutograd entries and profiles only, and Triton for its "
        "kernels; for eager kernels PyTorch looks in folders.",
        "Export it to a bundle.",
    ),
    "ttl-wrong": Words(
        "{ttl} seconds is no time to live.",
        "It is more than nothing, and at most a hundred years.",
        "Give seconds, or clear it to keep entries for good.",
    ),
    # Trash
    "nothing-to-undo": Words("There is nothing to undo in {place}.", "Its trash is empty."),
    "trash-foreign": Words(
        "The trash of {place} belongs to somebody else, who could change what lies in it.",
        "",
        "Look at what is in {file}, then remove it; or purge without the trash, with --now.",
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
        "What was found is out of date.", "The engine that looked was started anew.", "Look again."
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
        "The filter is not understood at “{token}”.",
        "{why}",
        "Plain words match name and key; kind:fxgraph, size>10M, age>30d, torch:2.9, device:cpu, "
        "is:stale; a leading - negates.",
    ),
    # Warming
    "cell-unknown": Words(
        "There is no cell “{cell}”.",
        "The recipes have none of this name, nor as many. Names that are like it: {near}.",
        "“torchkeeper recipe show” lists the cells of a recipe; they are numbered from 0.",
    ),
    "recipe-unknown": Words(
        "There is no recipe “{recipe}”.",
        "It is neither a file nor a folder, nor “builtin”.",
        "Check the path; “torchkeeper recipe new” writes a recipe to begin with.",
    ),
    "recipe-wrong": Words(
        "The recipe “{recipe}” is wrong at {where}.",
        "There: {expected}",
        "“torchkeeper recipe check” names every fault with its line.",
    ),
    "recipe-syntax": Words(
        "{file}, line {line}, column {column}, is not TOML.",
        "{why}.",
        "Correct the line; texts stand in quotes, lists in brackets.",
    ),
    "recipe-unreadable": Words(
        "The recipe {file} cannot be read.",
        "{why}.",
        "Check that it is a text file, and its permissions.",
    ),
    "recipe-too-large": Words(
        "The recipe {file} is too large.",
        "It has {size}, a recipe at most {most}.",
        "Check that it is the file you mean, or split it.",
    ),
    "recipes-none": Words(
        "There is no recipe in {folder}.",
        "Neither it nor a folder in it has a file that ends with .toml.",
        "Check the path; “torchkeeper recipe new” writes a recipe to begin with.",
    ),
    "recipes-too-many": Words(
        "There are too many recipes in {folder}.",
        "It has more than {most} files that end with .toml.",
        "Name a smaller folder.",
    ),
    "recipes-too-large": Words(
        "The recipes are too large to be sent together.",
        "They have {size}, at most {most} go.",
        "Give fewer at once.",
    ),
    "cells-too-many": Words(
        "There are too many combinations.",
        "The recipes have {cells}, and {most} is the most at once.",
        "Make a matrix smaller, or give fewer recipes at once.",
    ),
    "recipes-unreadable": Words(
        "The list of recipes cannot be read.",
        "{file} cannot be used: {why}.",
        "Repair the file, or remove it to begin a new list.",
    ),
    "recipes-unwritable": Words(
        "The list of recipes could not be kept.",
        "{file} cannot be written: {why}.",
        "Check the folder's permissions, and that its disk is not full.",
    ),
    "recipe-not-listed": Words(
        "{file} is not in the list of recipes.",
        "",
        "“torchkeeper recipe list” shows what is.",
    ),
    "recipe-exists": Words(
        "{file} is there already.",
        "Nothing was written.",
        "Choose another name, or add --force to replace it.",
    ),
    "rest-gone": Words(
        "Nothing is left that is not warm.",
        "The recipes were changed, and make none of the cells that failed any more.",
        "Warm the recipes as they are now, or verify the place.",
    ),
    "recipe-changed": Words(
        "{file} is another since it was read.",
        "Something else has written into it.",
        "Overwrite it with what is here, read it again, or save what is here as another file.",
    ),
    "recipe-unwritable": Words(
        "{file} cannot be written.",
        "{why}.",
        "Check the folder's permissions, and that its disk is not full.",
    ),
    "torch-missing": Words(
        "{python} has no torch.",
        "Compiling needs the torch whose entries are wanted.",
        "Choose an interpreter with torch, or install torch there.",
    ),
    "probe-stuck": Words(
        "{python} does not answer.",
        "Its torch was not imported within {seconds} seconds.",
        "See whether “import torch” ends there, and how long it takes.",
    ),
    "interpreters-unreadable": Words(
        "The list of interpreters cannot be understood.",
        "{file}: {why}.",
        "Mend or remove that file; what was added is then to be added again.",
    ),
    "interpreters-unwritable": Words(
        "The list of interpreters cannot be changed.", "{file}: {why}.", "See to that folder."
    ),
    "interpreter-not-added": Words(
        "{python} is not on the list of interpreters.",
        "Only what was added can be taken off; the others were found.",
        "“torchkeeper env” lists them.",
    ),
    "environment-no-torch": Words(
        "{python} has no torch.",
        "Whether entries are of use is asked of a torch.",
        "Choose an interpreter with torch: --env, or TORCHKEEPER_TORCH_PYTHON.",
    ),
    "environments-none": Words(
        "What is stale everywhere is not known: no environment was found.",
        "No interpreter on this machine has a torch to ask.",
        "Name one with --env, or put it on the list with “torchkeeper env --add PYTHON”.",
    ),
    "environment-unasked": Words(
        "What is stale everywhere is not known: {python} could not be asked.",
        "{why}",
        "Repair it, or say with --env which interpreters count.",
    ),
    "environment-not-started": Words(
        "{python} was found, and was not started.",
        "To start it is to run what lies in its folder, and nobody has named it. So it is not "
        "known what it can use.",
        "“torchkeeper env --add {quoted}” puts it on the list of those that are started; --env "
        "says which interpreters count this once.",
    ),
    "environment-wanted": Words(
        "The filter asks for verdicts, and no environment was named.",
        "What is usable in one is stale in another.",
        "Choose an interpreter with torch.",
    ),
    "environment-forgotten": Words(
        "The environment of {python} is not known any more.",
        "The engine that knew it was started anew.",
        "Try again.",
    ),
    "torch-broken": Words(
        "The torch of {python} cannot be imported.", "{why}", "Repair that installation."
    ),
    "compile-disabled": Words(
        "Compiling is turned off.", "{variable} is set.", "Unset it and start again."
    ),
    "caches-disabled": Words(
        "PyTorch's caches are turned off.",
        "{variable} says so, in the environment or in PyTorch's configuration.",
        "Unset it and start again.",
    ),
    # Profiles
    "profile-name": Words(
        "“{name}” cannot be the name of a profile.", "{why}.", "Give it another name."
    ),
    "profile-unknown": Words(
        "There is no profile “{name}”.",
        "",
        "“torchkeeper config list” shows those that there are; a file is named with its folder, "
        "such as ./{name}.toml.",
    ),
    "profile-exists": Words(
        "There is a profile “{name}” already.", "", "Give another name, or remove that first."
    ),
    "profile-changed": Words(
        "The profile “{name}” is another by now.",
        "Another program has written into its file since it was read.",
        "Read it again, which loses what was changed here, or overwrite it.",
    ),
    "profile-setting-unknown": Words(
        "{name} is no setting of the caches.",
        "",
        "“torchkeeper config settings” lists all that are known.",
    ),
    "profile-setting-misnamed": Words(
        "{name} is no setting of the caches.", "{meant} is one.", "Give that name."
    ),
    "profile-value-impossible": Words("{name} cannot have this value.", "{why}.", "Change it."),
    "profile-about-too-long": Words(
        "What is said about the profile is no text of {most} characters at most."
    ),
    "profiles-unreadable": Words(
        "The list of profiles cannot be read.",
        "{folder} cannot be used: {why}.",
        "Check the folder's permissions.",
    ),
    "profile-unreadable": Words("{file} cannot be read.", "{why}.", "Check the path."),
    "profile-damaged": Words(
        "{file} is no profile, or is damaged.",
        "{why}.",
        "Correct it in an editor, or remove it. Nothing was changed.",
    ),
    "profile-unwritable": Words(
        "The profile could not be saved.",
        "{file} cannot be written: {why}.",
        "Check the folder's permissions, and that its disk is not full.",
    ),
    "profile-nothing-told": Words(
        "Of what {file} sets for the caches, nothing can be taken.",
        "{name}: {why}. Nothing is run to find out more.",
        "Set it to a value that is written out, where nothing decides on it; a script has to "
        "export it, too.",
    ),
    "profile-text-wrong": Words(
        "Line {line} cannot be understood.", "{why}.", "Correct it, or say another format."
    ),
    "profile-text-uncarried": Words(
        "{name} cannot be written to a {format}.",
        "{why}.",
        "Choose another format; a script for sh carries everything. Nothing was written.",
    ),
    "profile-stage-unknown": Words(
        "There is no stage {stage}.", "The file has {count} of them{names}.", "Name one of them."
    ),
    "profile-container-which": Words(
        "Several parts of the file set variables, each in another way.",
        "They are: {names}.",
        "Say which one with --container NAME; for --profile, make a profile of it first, with "
        "“torchkeeper config import”.",
    ),
    "profile-container-unknown": Words(
        "There is no container {container}.", "There are: {names}.", "Name one of them."
    ),
    "profile-nothing-there": Words(
        "Nothing there sets a variable.",
        "There is no container with an env, and no ConfigMap.",
        "Give a manifest, or its env: alone.",
    ),
    "profile-secrets-only": Words(
        "Nothing there sets a variable but Secrets.",
        "Secrets are not read: what is in them is to stay there.",
        "Give the manifest of the container that has its env from them.",
    ),
    "profile-import-nothing": Words(
        "{file} sets nothing that steers the caches.",
        "",
        "“torchkeeper config settings” lists what does. Nothing was kept.",
    ),
    "profile-no-password": Words(
        "The profile “{name}” has no password that a Secret could hold.",
        "",
        "Export it without --secret.",
    ),
    "secret-name": Words("“{secret}” names no key of a Secret.", "", "Give both, as in redis/url."),
    "profile-without-caches": Words(
        "With the profile “{profile}” PyTorch keeps nothing that it compiles.",
        "{name} has the caches turned off.",
        "Change that in the profile, or use another one.",
    ),
    # Cells
    "module-missing": Words(
        "There is no module {module}.",
        "It was looked for in {folder}, where the recipe lies, and in the chosen interpreter.",
        "Correct its name, or the folder that the recipe lies in.",
    ),
    "module-needs": Words(
        "{module} cannot be imported.",
        "It needs {missing}, which the chosen interpreter does not have.",
        "Install {missing} there, or choose an interpreter that has it.",
    ),
    "name-missing": Words(
        "{module} has no {name}.", "Names that are like it: {near}.", "Correct the recipe."
    ),
    "not-callable": Words(
        "{name} cannot be called.",
        "It is a {found}.",
        "Name a function, a class, or a model that takes inputs.",
    ),
    "example-wrong": Words(
        "{name} did not return what can be compiled.",
        "It returned {found}; an example returns (model, inputs) or (model, inputs, keyword "
        "inputs), and a factory a model or a function.",
        "Correct what it returns.",
    ),
    "inputs-refused": Words(
        "The inputs do not fit.",
        "{why} ({where})",
        "Correct the inputs in the recipe: how many there are, their shapes and their types.",
    ),
    "arguments-wrong": Words(
        "{name} does not take the recipe's arguments.",
        "{why} ({where})",
        "Correct “args” in the recipe. Sizes, device and dtype are given too where it has "
        "parameters of these names.",
    ),
    "input-type": Words(
        "{found} cannot be an input.",
        "Inputs are tensors, numbers, texts, and PyTorch's types, devices and layouts.",
        "Correct the inputs in the recipe.",
    ),
    "callable-raised": Words(
        "The recipe's own code raised an error.",
        "{why} ({where})",
        "Correct the code; the log has the whole traceback.",
    ),
    "no-gradient": Words(
        "There is nothing to go backward from.",
        "No output of {cell} depends on a parameter, or on an input, that has a gradient.",
        "Set requires_grad = true for an input, or take “backward” out of the recipe.",
    ),
    "exported-unreadable": Words(
        "{file} cannot be read as an exported program.",
        "{why}",
        "Write it with torch.export.save, of the torch that is to load it.",
    ),
    "cell-memory": Words(
        "Compiling took more memory than it may.",
        "It held {used_mb} MB, and {limit_mb} MB is the limit.",
        "Raise the limit in the recipe, or warm fewer at a time. Nothing half-written was left.",
    ),
    "eager-failed": Words(
        "{op} could not be compiled for eager mode.",
        "{why}",
        "The log has all of it. Only inputs of these shapes and types are affected.",
    ),
    "triton-missing": Words(
        "{python} has no Triton.",
        "Kernels are compiled by the Triton that programs launch them with.",
        "Choose an interpreter with Triton, or install it there.",
    ),
    "triton-broken": Words(
        "The Triton of {python} cannot be imported.", "{why}", "Repair that installation."
    ),
    "not-a-kernel": Words(
        "{kernel} is not a Triton kernel.",
        "It is a {found}; a kernel is a function under @triton.jit.",
        "Name the function itself.",
    ),
    "kernel-argument-unknown": Words(
        "{kernel} has no argument {argument}.",
        "It takes {takes}.",
        "Correct the recipe's signature or constants.",
    ),
    "kernel-arguments-missing": Words(
        "Of the arguments of {kernel}, {missing} are not given.",
        "It takes {takes}, and these have no default.",
        "Give the types of what a launch passes in the signature, and the rest as constants.",
    ),
    "kernel-argument": Words(
        "No launch of {kernel} passes {argument} as {asked}.",
        "Triton would make it {made}; other whole numbers than i32, i64 and u64, and other "
        "numbers than fp32, are passed only where the kernel annotates the argument with the type.",
        "Give the type that a launch has.",
    ),
    "kernel-target": Words(
        "{kernel} cannot be compiled for {target}.",
        "{why}.",
        "Name a GPU that this Triton compiles for, such as cuda:90 or hip:gfx942.",
    ),
    "kernel-failed": Words(
        "{kernel} could not be compiled for {target}.",
        "{why} ({where})",
        "The log has all that Triton said.",
    ),
    # Runs
    "command-not-python": Words(
        "{command} is not run by a Python.",
        "With --env, the command is “python …”, “FILE.py …” or “-m MODULE …”: {python} runs it.",
        "Leave --env out, and name a program of that environment by its path, such as "
        "{folder}/torchrun.",
    ),
    "command-missing": Words(
        "There is no program {command}.",
        "Neither is it a path, nor is it found on the PATH.",
        "Check the name; a Python file is run by “python FILE.py”, or with --env.",
    ),
    "command-unusable": Words(
        "{command} cannot be started.",
        "{why}.",
        "Check its permissions; a Python file is run by “python FILE.py”, or with --env.",
    ),
    "runs-unwritable": Words(
        "The list of runs could not be changed.",
        "{folder} cannot be written: {why}.",
        "Check the folder's permissions, and that its disk is not full.",
    ),
    "jobs-unwritable": Words(
        "The history of jobs could not be changed.",
        "{file} cannot be written: {why}.",
        "Check the folder's permissions, and that its disk is not full.",
    ),
    "text-unwritable": Words(
        "The text could not be saved.",
        "{file} cannot be written: {why}.",
        "Choose another folder.",
    ),
    "jobs-unreadable": Words(
        "The history of jobs could not be read.",
        "{file} cannot be read: {why}.",
        "Check the file's permissions.",
    ),
    "job-unknown": Words(
        "No job that is kept has an id that starts with “{job}”.",
        "",
        "“torchkeeper jobs” lists them; “last” is the latest.",
    ),
    "job-ambiguous": Words(
        "{count} jobs have an id that starts with “{job}”.",
        "",
        "Give more of the id; “torchkeeper jobs” lists them.",
    ),
    "run-unknown": Words(
        "No run that is kept has an id that starts with “{run}”.",
        "",
        "“torchkeeper runs” lists them; “last” is the latest.",
    ),
    "run-ambiguous": Words("{count} runs start with “{run}”.", "", "Give more of the id."),
    "trace-missing": Words(
        "There is no trace {place}.",
        "PyTorch writes one where TORCH_TRACE names a folder.",
        "Check the path.",
    ),
    "trace-empty": Words(
        "{place} holds no trace of PyTorch.",
        "No line of it is a record that PyTorch writes.",
        "Give the folder that TORCH_TRACE named, or a file of it.",
    ),
    "device-missing": Words(
        "There is no device “{device}” here.",
        "The chosen torch does not see it.",
        "Choose another device, or leave the choice to Torchkeeper.",
    ),
    "compiler-missing": Words(
        "No C++ compiler was found.",
        "PyTorch compiles for the CPU with one.",
        "Install g++ (on Debian: apt install g++), or name yours in CXX.",
    ),
    "warm-failed": Words(
        "Compiling failed.", "{why}", "The log says more. Nothing half-written was left."
    ),
    "recording-stdin": Words(
        "Nothing was run: a recipe cannot be written of it.",
        "Python would read the program from the standard input, which a warm-up has not.",
        "Put the program into a file, and run that.",
    ),
    "recording-nothing": Words(
        "No recipe was written to {file}.",
        "The program compiled nothing for which PyTorch's caches are asked.",
        "Have it run what torch.compile made, with the backend inductor.",
    ),
    "recording-failed": Words(
        "No recipe was written to {file}.",
        "The program ended with exit code {status} before it compiled anything.",
        "What it says itself stands above; mend that first.",
    ),
    "script-failed": Words(
        "{command} failed: {status}.",
        "{why}",
        "The log has all that it said. Run the command by itself in the recipe's folder, with the "
        "same interpreter.",
    ),
    "script-nothing": Words(
        "{command} ended well, but had PyTorch look up no graph in its cache.",
        "It began {compiles} compiles. Without any, it called nothing that torch.compile made; "
        "otherwise its caches are turned off, or its backend is not inductor.",
        "Have the command run what is to be warmed, as “torchkeeper run -- COMMAND” shows it.",
    ),
    "nothing-compiled": Words(
        "{cell} had PyTorch look up no graph in its cache.",
        "It ran well, but has nothing to compile, is kept from being compiled, is compiled by "
        "another backend than inductor, or turns the caches off.",
        "Name in the recipe what the program has compiled, as “torchkeeper run -- COMMAND” shows "
        "it.",
    ),
    "not-found-again": Words(
        "{cell} was compiled, and is not found again: {found} of {of}.",
        "{why}.",
        "Programs would compile it again, too. The log may say why; see that nothing else writes "
        "to the place, and that no variable in the recipe turns the cache off.",
    ),
    "nothing-cached": Words(
        "Nothing of {cell} can be cached.",
        "PyTorch compiled it and bypassed its cache for {bypasses} of its graphs, which is all: "
        "every program will compile them again.",
        "What it says of each is told beside this: most often a custom pass without a uuid, or an "
        "operator that PyTorch does not cache.",
    ),
    "script-missing": Words(
        "There is no file {file} to run.",
        "It is not in {folder}.",
        "The command's files are relative to its folder, and that to the recipe.",
    ),
    "script-folder": Words(
        "There is no folder {folder} to run the command in.",
        "A script's folder is relative to the recipe.",
        "Correct “folder” in the recipe, or leave it out.",
    ),
    "warm-killed": Words(
        "The compile job was ended by {signal}.",
        "SIGKILL usually means that the machine ran out of memory. {why}",
        "The log says more. Nothing half-written was left.",
    ),
    "warm-timeout": Words(
        "Compiling took longer than {limit_s} seconds and was stopped.",
        "It may hang, or the limit is too short.",
        "The log says more. Nothing half-written was left.",
    ),
    # Verifying
    "verify-server": Words(
        "{place} is a server, and cannot be verified as it is.",
        "A verification runs on a copy of nothing but the target, and built objects are in no "
        "server.",
        "Copy it to a bundle first: torchkeeper copy {place} FILE.torchcache. Then verify that.",
    ),
    "nothing-to-verify": Words(
        "There is nothing to verify in {place}.",
        "It holds no FX graph and no AOTAutograd entry, so nothing of it can hit.",
        "Warm it first, or choose another place.",
    ),
    "verify-which": Words(
        "{place} holds {count} caches, and a program uses one: nothing was verified.",
        "There are {folders}.",
        "Verify one of these folders in it.",
    ),
    "verify-no-room": Words(
        "There is no room to verify.",
        "It takes a copy, and the headers that PyTorch precompiles: about {needed_mb} MB, and "
        "{place} has {free_mb} MB.",
        "Free some room, or name a folder on another disk in TMPDIR.",
    ),
    "verify-crashed": Words(
        "With {place} as its cache, the program was ended by {signal}.",
        "An object in the cache is damaged or holds machine code for another CPU, unless the "
        "recipe ends so by itself.",
        "Do not use it. Purge its objects (--filter kind:code): PyTorch builds them again.",
    ),
    "verify-nonsense": Words(
        "What the verification told cannot be understood.",
        "The engine's answer is not of the form it has: {why}.",
        "Install the same version on both sides; a recipe must not write to the engine's output.",
    ),
    "mega-cache-unsupported": Words(
        "The torch {torch} has no mega-cache to compare with.",
        "torch.compiler.save_cache_artifacts() returned nothing.",
        "Verify without the comparison: --quick.",
    ),
    "threads-out-of-range": Words(
        "{threads} is no number of threads.",
        "A program has from 1 to {most}.",
        "Give the number of cores that the program will have.",
    ),
    "threads-not-taken": Words(
        "PyTorch does not take {threads} threads here, but {here}.",
        "Something else than OMP_NUM_THREADS decides: a variable of OpenMP or MKL, or a "
        "sitecustomize.",
        "Take that away, or set the number there.",
    ),
    # Preparing
    "headers-off": Words(
        "There is nothing to prepare: no header is precompiled.",
        "{variable}=0 is set, and programs that have it set need none.",
        "Unset it to prepare for programs that have it not.",
    ),
    "headers-unknown": Words(
        "There is nothing to prepare: torch {torch} precompiles no header.",
        "",
        "Choose another interpreter, if programs run under another.",
    ),
    "headers-elsewhere": Words(
        "PyTorch would not look for headers in {wanted}.",
        "It would look in {folder}, whatever it is told.",
        "Name that folder, or leave --into out.",
    ),
    "header-refused": Words(
        "The C++ compiler does not take the header that it precompiled.",
        "{path} was built and is passed over, so that programs would gain nothing.",
        "Name another compiler in CXX, or warm with --portable, which needs no header.",
    ),
    "openssl-missing": Words(
        "No working openssl was found.",
        "PyTorch names its precompiled headers by a checksum that it makes; without it, it "
        "compiles nothing for the CPU.",
        "Install openssl (on Debian: apt install openssl), or do without precompiled headers: "
        "warm with --portable.",
    ),
    "prepare-failed": Words(
        "The environment could not be prepared.",
        "{why}",
        "The log says more. Nothing half-written was left.",
    ),
    "prepare-killed": Words(
        "The precompiling was ended by {signal}.",
        "SIGKILL usually means that the machine ran out of memory. {why}",
        "Nothing half-written was left.",
    ),
    "prepare-timeout": Words(
        "Precompiling took longer than {limit_s} seconds and was stopped.",
        "It usually takes less than a minute.",
        "Try again; nothing half-written was left.",
    ),
    # The doctor
    "check-failed": Words("It could not be looked at: {path}.", "{why}"),
    "toolchain-failed": Words(
        "What the interpreter can do was not tried to the end.", "{why}", "The log says more."
    ),
    "toolchain-stuck": Words(
        "Trying out the interpreter took longer than {limit_s} seconds and was stopped.",
        "Its compiler hangs, or importing torch takes very long.",
        "Try again when the machine is less busy.",
    ),
    "interpreter-not-tried": Words(
        "What the interpreter can do was not tried.", "", "“torchkeeper doctor --env” tries it."
    ),
    "torch-not-tried": Words("torch cannot be imported.", "{why}"),
    "header-not-tried": Words(
        "Nobody can tell whether the precompiled C++ header is there.",
        "The C++ compiler does not work, or this torch has no such header.",
    ),
    "no-verdicts": Words(
        "Nobody can tell what is stale.", "The interpreter has no torch.", "Name one with --env."
    ),
    "mounts-unknown": Words("The system does not tell which file system it is."),
    "unchanged": Words("It could not be changed.", "{why}"),
    "fix-unknown": Words("The engine does not know the fix “{fix}”."),
    # Engine
    "bad-request": Words("The engine did not understand a request.", "Its {field} is wrong."),
    "cancelled": Words("Cancelled."),
    "request-malformed": Words("The engine did not understand a request.", "{why}"),
    "operation-unknown": Words(
        "The engine cannot do “{operation}”.", "", "Install the same version on both sides."
    ),
    "engine-bug": Words("Torchkeeper made a mistake.", "{why}", "Please report it, with the log."),
}


#: Why a device was chosen, by the code that ``torchkeeper.warm.job`` gives.
_DEVICE_REASONS: dict[str, Text] = {
    "asked": "as asked",
    "accelerator": "the accelerator that torch sees",
    "no-accelerator": "this torch sees no GPU here, so it compiles for the CPU",
    "no-triton": "there is a GPU, but no Triton that can compile for it",
}


def device_reason(code: object) -> str:
    """Why a device was chosen; empty where that is not known."""
    return tr(_DEVICE_REASONS.get(str(code), ""))


def user_of_place(user: Mapping[str, object]) -> str:
    """What a process has to do with a folder (engine/operations.py, ``in_use``), in a sentence."""
    name = printable(str(user.get("name")), 80)
    who = tr("{name} (process {pid})", name=name, pid=str(user.get("pid")))
    entries = user.get("entries")
    many = entries if isinstance(entries, int) else 0
    if user.get("holds_all"):
        return tr("{who} runs with this folder as its cache and may need any entry next.", who=who)
    if user.get("why") == "environment":
        return tr("{who} merely has this folder in its environment.", who=who)
    mapped = user.get("why") == "mapped"
    if not many:
        return tr(
            "{who} has other files of this folder mapped."
            if mapped
            else "{who} has other files of this folder open.",
            who=who,
        )
    if mapped:
        return several(
            many,
            "{who} has files of one entry mapped.",
            "{who} has files of {n} entries mapped.",
            who=who,
        )
    return several(
        many,
        "{who} has files of one entry open.",
        "{who} has files of {n} entries open.",
        who=who,
    )


def removed_by_then(removed: Mapping[str, object]) -> str:
    """How much a purge that ended early has removed for good, or moved to the trash."""
    of, size = removed.get("of"), removed.get("bytes")
    if not (isinstance(of, Mapping) and isinstance(size, int)):
        return ""
    return tr(
        "Moved to the trash by then: {some}, {size}."
        if removed.get("trash")
        else "Removed by then: {some}, {size}."
        if removed.get("sure")
        else "Removed by then: at least {some}, {size}.",
        some=say.part_of(removed, of),
        size=say.size(size),
    )


def not_looked_at(count: int) -> str:
    """That not everything on a server could be looked at to see what needs an entry."""
    return tr("about {n} entries were not looked at", n=count)


def unseen_users(in_use: Mapping[str, object]) -> str:
    """What cannot be known of the processes that use a folder, or nothing."""
    if in_use.get("sees") == "none":
        return tr("Whether a process uses this folder cannot be known on this system.")
    if in_use.get("sees") == "own":
        return tr(
            "Whether another user's process uses this folder cannot be known: /proc hides them."
        )
    hidden = in_use.get("hidden")
    if not isinstance(hidden, int) or not hidden:
        return ""
    return several(
        hidden,
        "One process cannot be looked into; whether it uses this folder cannot be known.",
        "{n} processes cannot be looked into, being another user's; "
        "whether they use this folder cannot be known.",
    )


def waiting_for(said: Mapping[str, object]) -> str:
    """That a server is waited for (stores/redis/patience.py, ``waiting``), and why."""
    params = said.get("params")
    error = user_error(str(said.get("code")), params if isinstance(params, dict) else {})
    return tr("{what} Waiting until it is back…", what=error.what)


def leftovers_gone(told: Mapping[str, object]) -> str:
    """That something was removed which an earlier export had left (stores/bundles/leftovers.py)."""
    size = told.get("bytes")
    known = isinstance(size, int) and 0 <= size < _MOST_BYTES
    much = say.size(size) if isinstance(size, int) and known else tr("some files")
    return tr("Removed what an export that was cut off had left: {much}.", much=much)


class _Shown(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def user_error(code: str, params: Mapping[str, object]) -> UserError:
    """The words for a code. An unknown code is said as such, with its parameters."""
    return words_for(CATALOGUE, code, params)


def words_for(catalogue: Mapping[str, Words], code: str, params: Mapping[str, object]) -> UserError:
    """As ``user_error``, with the words of this catalogue."""
    words = catalogue.get(code)
    if words is None:
        said = printable(", ".join(f"{k}={v}" for k, v in params.items()), 2000)
        return UserError(tr("The engine reported “{code}”.", code=printable(code)), said, code=code)
    shown = _Shown({k: _shown(k, v) for k, v in params.items()})
    if "place" in shown:  # in a command it is pasted into a shell
        shown.setdefault("quoted", shlex.quote(shown["place"]))
    if "problem" in shown:
        shown["problem"] = _within(shown["problem"], shown)
    if "expected" in shown:
        shown["expected"] = expectation(shown["expected"], shown.get("found", ""), shown)
    return UserError(
        _filled(words.what, params, shown),
        _filled(words.why, params, shown),
        _filled(words.remedy, params, shown),
        code=code,
        params=params,
    )


def template(text: str | Forms, params: Mapping[str, object]) -> str:
    """A template in the language that is used, in the form that goes with these parameters."""
    if isinstance(text, str):
        return tr(text)
    return form(sum(_numbers(text, params).values()), text.one, text.many)


def _numbers(text: Forms, params: Mapping[str, object]) -> dict[str, int]:
    every = {name: params.get(name) for name in text.of.split("+")}
    return {name: value for name, value in every.items() if isinstance(value, int)}


def _filled(text: str | Forms, params: Mapping[str, object], shown: Mapping[str, str]) -> str:
    said = template(text, params)
    if isinstance(text, str):
        return said.format_map(shown)
    counted = {name: f"{value:,}" for name, value in _numbers(text, params).items()}
    return said.format_map(_Shown({**shown, **counted}))


def _shown(name: str, value: object) -> str:
    if name.endswith("_bytes"):
        known = isinstance(value, int) and 0 <= value < _MOST_BYTES
        return say.size(value) if isinstance(value, int) and known else tr("less")
    if type(value) is int and name not in _NAMES:
        return f"{value:,}"
    if name in _KINDS:
        value = kinds.called(value)
    shown = "" if value is None else printable(str(value))
    return reworded(shown) if name in _REASONS else shown


def _within(problem: str, shown: Mapping[str, str]) -> str:
    """The words for a code, as a part of a sentence that names the server; an unknown one as it
    is.
    """
    words = CATALOGUE.get(problem)
    named = _Shown({"server": tr("it"), **shown})
    what = _filled(words.what, {}, named) if words else problem
    return what[:1].lower() + what[1:].rstrip(".")


#: Characters of a name, at most, that are shown of it.
SHORT = 400


def printable(text: str, limit: int = SHORT) -> str:
    """The text with control and undecodable characters made visible, and cut to ``limit``."""
    safe = text[: limit + 1]
    if not safe.isprintable():  # most are, and there are many
        safe = "".join(
            c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
            for c in safe
        )
    return safe if len(text) <= limit else safe[:limit] + "…"


def visible(text: str) -> str:
    """Lines of text as ``printable`` has each, however long they are."""
    if text.isprintable():
        return text
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else printable(line, len(line)) for line in lines)
