"""Words for what goes wrong with bundles, and with the built objects in them."""

from torchkeeper.client.words.catalogue.words import AGAIN, ROOM, UNWRITABLE, Words

WORDS: dict[str, Words] = {
    # Bundles
    "file-missing": Words("There is no file {file}.", remedy="Check the path."),
    "bundle-unreadable": Words("{file} cannot be read.", "{why}.", "Check its permissions."),
    "not-a-bundle": Words(
        "{file} is neither a bundle nor a mega-cache.",
        "It does not begin like one of these.",
        "Choose a .torchcache file, or what torch.compiler.save_cache_artifacts() returned.",
    ),
    "bundle-is-package": Words(
        "{file} is a package of AOTInductor, and neither a cache nor a bundle.",
        "A program loads it whole: no entries are in it.",
        "“torchkeeper inspect” shows what is in it, and whether it fits here.",
    ),
    "bundle-is-exported": Words(
        "{file} is a package of torch.export, and neither a cache nor a bundle.",
        "Nothing in it is compiled.",
        "“torchkeeper inspect” shows what is in it.",
    ),
    "bundle-no-package": Words(
        "{file} is no package of AOTInductor or torch.export, whatever it is called.",
        "Every .pt2 is a zip file, and this is none.",
        AGAIN,
    ),
    "bundle-altered": Words(
        "{file} was changed after it was made.", "Its manifest describes another {part}.", AGAIN
    ),
    "bundle-more": Words(
        "{file} was changed after it was made.", "Its manifest does not name {part}.", AGAIN
    ),
    "bundle-changed": Words(
        "{file} has changed.",
        "Another program replaced it meanwhile.",
        "Start again, and check its contents.",
    ),
    "signature-wrong": Words("The signature of {file} is wrong.", "{why}.", AGAIN),
    "signature-required": Words(
        "{file} is not imported.",
        "You require a trusted signature, and it is signed {how}.",
        "Let one of your signers sign it, add its signer with “torchkeeper signers add”, or allow "
        "others again with “torchkeeper signers require off”.",
    ),
    "signers-unreadable": Words(
        "The list of trusted signers cannot be read.",
        "{file} cannot be used: {why}.",
        "Repair the file. ssh-keygen(1) describes such a file of allowed signers.",
    ),
    "signers-given": Words(
        "Signatures are still required.",
        "{variable} names {file}: Torchkeeper imports only what signers in it have signed.",
        "Unset {variable} first.",
    ),
    "signers-unwritable": Words("The list of signers could not be saved.", UNWRITABLE, ROOM),
    "signer-unknown": Words(
        "There is no signer {name}.", remedy="“torchkeeper signers list” names them all."
    ),
    "signer-there": Words(
        "There is a signer {name} with this key already.", remedy="Nothing was changed."
    ),
    "signer-name": Words(
        "{name} cannot be the name of a signer.",
        "It is empty, or has a space, a comma, a quote, a star, a question mark, “!” or “#”.",
        "Choose a name such as an address: team@example.org.",
    ),
    "key-unusable": Words(
        "{file} is not a usable key.",
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
    "bundle-damaged": Words("{file} is damaged.", "{why}.", AGAIN),
    "bundle-newer": Words(
        "{file} was made by a newer Torchkeeper.",
        "It has format version {version}.",
        "Update Torchkeeper.",
    ),
    "mega-cache-damaged": Words(
        "{file} is damaged.", "The mega-cache cannot be read: {why}.", AGAIN
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
        "It takes about {needed_bytes}, and its disk has {free_bytes} left. Torchkeeper kept "
        "nothing of it.",
        "Free some room there, or choose another folder.",
    ),
    "output-exists": Words(
        "{file} is there already.",
        "Nothing was replaced.",
        "Choose another name, or have it replaced: “export” without --no-clobber, “copy” with "
        "--replace.",
    ),
    "copy-onto-itself": Words(
        "{place} cannot be copied onto itself.", remedy="Name another place to copy to."
    ),
    "copy-into-itself": Words(
        "{place} lies in the folder that you copy.",
        "The copy would become a part of it.",
        "Name another place to copy to.",
    ),
    # What was left
    "name-refused": Words(
        "Its name is refused.", "An entry of kind {kind} cannot have the name “{name}”."
    ),
    "promised-but-missing": Words("It is in the manifest but not in the bundle.", "{path}"),
    "not-in-manifest": Words("It is in the mega-cache but not in the manifest."),
    "size-wrong": Words("Its size does not match the manifest.", "{path}"),
    "type-unknown": Words("Entries of type “{type}” cannot be placed in a folder yet."),
    "secrets-found": Words(
        "Nothing was written, because secrets were found.",
        "These look like passwords or keys: {secrets}; number of entries: {entries}. Everybody who "
        "gets the entries can read them.",
        "Say whether they are redacted (--redact), those entries are left out (--without-secrets), "
        "or all goes as it is (--allow-secrets); the window asks.",
    ),
    "dragged-secrets": Words(
        "Nothing was dragged out, because secrets were found.",
        "These look like passwords or keys: {secrets}; number of entries: {entries}. Torchkeeper "
        "asks before it puts them into a bundle.",
        "Export asks what to do with them.",
    ),
    "not-searched": Words(
        "It was left out, because it could not be searched for secrets.",
        "It cannot be read: {why}.",
        "Try again, or include it without a search: --allow-secrets.",
    ),
    "not-usable": Words("It was left out, because that environment cannot use it."),
    "has-secrets": Words("It was left out, as you chose, because it holds secrets."),
    "secret-fixed": Words(
        "It holds a secret that cannot be redacted.",
        "The content of an entry of kind {kind} decides its name: with another text, PyTorch does "
        "not find it.",
        "Take the secret out of your source, and compile it again.",
    ),
    "redaction-breaks": Words(
        "It could not be read any more after its secrets were redacted.",
        "Something it needs looks like a secret.",
        "Compile it again without the secret in the environment.",
    ),
    "kind-not-portable": Words(
        "It is of kind {kind}, which is of use on this machine only; others make it again."
    ),
    "kernel-of-device": Words(
        "It works only where it was compiled.",
        "The library of an eager kernel for {device} names the files of its GPU code by their "
        "absolute paths.",
        "Warm it where you use it.",
    ),
    "kernel-unloadable": Words(
        "PyTorch cannot load it: {why}.",
        "With such an item in a list, PyTorch uses no kernel of that operator.",
        "Compile it again where it comes from, or purge it there.",
    ),
    "list-unreadable": Words(
        "The list of kernels that it belongs to cannot be read.",
        "{path}: {why}.",
        "Purge that list if you do not need it. Torchkeeper changed nothing in it.",
    ),
    "list-spoilt": Words(
        "PyTorch does not find it: if a library of a list is gone, PyTorch uses none of that list.",
        "{path} names {library}, which is not there.",
        "Purge what is broken there, and try again.",
    ),
    "part-of-artifact": Words(
        "It is part of an entry that stays where it is.",
        "{path} works only there. What vLLM keeps travels whole: name the folder of all its keys, "
        "torch_compile_cache, or the one above, such as ~/.cache/vllm.",
    ),
    "same-place": Words("The same entry is in another cache; that one was taken."),
    "entry-broken": Words("It is broken: {problem}."),
    "entry-changed": Words("It has changed since it was listed."),
    "entry-vanished": Words("It could not be read any more.", "{why}"),
    "in-use": Words("PyTorch is writing it; it stays.", remedy="Try again when PyTorch is done."),
    "entry-in-use": Words(
        "It is in use by {name} (process {pid}); it stays.",
        remedy="Wait until the process has ended, or insist (--in-use).",
    ),
    "place-in-use": Words(
        "Nothing was purged: {place} is in use.",
        "{name} (process {pid}) uses it as its cache, and may need any entry next.",
        "Wait until the process has ended, or insist (--in-use).",
    ),
    "listed-twice": Words("The manifest lists it twice; the first one counts."),
    "key-taken": Words("Something else is there under the same name, and stays.", "{path}"),
    "newer-goes": Words("A newer payload of this key was taken; a server has one for each key."),
    "named-before": Words(
        "A place that is named before has another payload of this key; that one was taken."
    ),
    "kind-not-in-mega-cache": Words("A mega-cache cannot hold entries of this kind; a bundle can."),
    "superseded": Words("A later profile in the same file takes its place."),
    "cannot-remove": Words("{path} cannot be removed.", "{why}.", "Check its permissions."),
    "cannot-restore": Words("{path} cannot be put back.", "{why}.", "It stays in the trash."),
    "not-purged": Words("No purge moved it there, so it stays."),
    "path-taken": Words(
        "{path} exists again.", "It was written after the purge.", "The old one stays in the trash."
    ),
    # Built objects that stay out of an environment (verdict/native.py)
    "object-torch": Words(
        "It was built for another torch.",
        "It was built for {there}; here is {here}.",
        "PyTorch builds it again. To carry it, warm and export with the same torch.",
    ),
    "object-python": Words(
        "It was built for another Python.",
        "It was built for {there}; here is {here}.",
        "PyTorch builds it again. To carry it, warm and export with the same version of Python.",
    ),
    "object-compiler": Words(
        "It was built by another compiler.",
        "It was built by {there}; here is {here}.",
        "PyTorch builds it again. To carry it, use the same compiler: CXX names one.",
    ),
    "object-libc": Words(
        "It was built for another C library.",
        "It was built with {there}; here is {here}.",
        "PyTorch builds it again. To carry it, build on the older of the two systems.",
    ),
    "object-command": Words(
        "It was built by another command than PyTorch uses here.",
        "They differ: {differs}.",
        "PyTorch builds it again, unless the program asks for those options here, too.",
    ),
    "object-cpu": Words(
        "It was built for another CPU.",
        "{differs}.",
        "PyTorch builds it again. To carry it, warm and export on a CPU like this one.",
    ),
    "object-misclaimed": Words(
        "It does not match the manifest.",
        "It may use {sets}, but the CPU that the manifest names does not have that.",
        "PyTorch builds it again. Ask whoever made the bundle.",
    ),
    "object-unproven": Words(
        "It is not known for which CPU it was built.",
        "It records no instruction sets, and the bundle does not say how it was built.",
        "PyTorch builds it again. Export it where it was built, with --env and the Python there.",
    ),
}
