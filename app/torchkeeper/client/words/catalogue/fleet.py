"""Fleets: many machines that warm one place."""

from torchkeeper.client.words.catalogue.words import Words

WORDS: dict[str, Words] = {
    "target-unknown": Words(
        "“{target}” is no target.",
        "A target is “local”, “ssh://host”, a group of hosts, “slurm”, or a Ray cluster.",
        "“torchkeeper hosts” lists your groups.",
    ),
    "target-kubernetes": Words(
        "Torchkeeper sends nothing to Kubernetes.",
        "It prints Jobs for it, which compile the recipes there.",
        "Give “torchkeeper warm … --on kubernetes --dry-run --image IMAGE”.",
    ),
    "fleet-lacks": Words(
        "No node has {what}.",
        "Each node that answered was asked.",
        "Name a target that has it, or leave the variant out.",
    ),
    "fleet-lacks-memory": Words(
        "No device has enough memory.",
        "The recipe asks for {needs} bytes; the largest device has {has}.",
        "Name a target with a larger device, or ask for less in the recipe’s [limits].",
    ),
    "fleet-no-nodes": Words(
        "No node could take it.",
        "Those that could were lost, or none of the targets’ nodes is ready.",
        "Warm the place again once they are back: what is done stays done.",
    ),
    "fleet-failed": Words(
        "It failed on {nodes}.",
        "The log of each node says why.",
        "Mend it, and warm the place again: what is done stays done.",
    ),
    "fleet-nothing": Words(
        "{node} does not say what became of its cells.",
        "It answered, and told of none of them.",
        "Look at its Torchkeeper and its Python; other nodes go on.",
    ),
    "fleet-too-many": Words(
        "Its bundle has more entries than a unit of cells makes.",
        "It has {entries}; {most} are the most.",
        "Look at that machine; other nodes go on.",
    ),
    "fleet-too-large": Words(
        "Its bundle is too large to be taken.",
        "It says that it has {size}; there is room for {room}.",
        "Free some room, or look at what that machine makes; other nodes go on.",
    ),
    "fleet-not-asked": Words(
        "{node} has sent it, though nobody asked for it.",
        "A cell of these recipes makes no such entry.",
    ),
    "fleet-unproven": Words(
        "It could not be proven on {nodes}.",
        "The log says why.",
        "Mend it, and warm the place again: what is done stays done.",
    ),
    "fleet-busy": Words(
        "Somebody else warms this place with a fleet.",
        "{folder} is locked.",
        "Wait until that is done, or name another folder with --state.",
    ),
    "fleet-journal-unreadable": Words(
        "What the fleet has done so far cannot be read.",
        "{file}: {why}.",
        "Correct the rights of the file; or remove it, or name another folder with --state, and "
        "every cell is compiled anew, less what the place has.",
    ),
    "fleet-unsignable": Words(
        "{place} cannot be signed.",
        "Only a bundle of this machine can be signed.",
        "Let the place end with .torchcache, or leave the key out.",
    ),
    "fleet-unreadable": Words(
        "What came of this fleet cannot be read.",
        "{folder} has no whole record of its last run.",
        "Warm the place again: what is there is not compiled anew.",
    ),
    "fleet-keeps-all": Words(
        "Nothing can go from {place} by itself.",
        "Only a folder has a trash, from which “undo” puts back what went.",
        "Name a folder as the place, and a bundle or a server in “also”; or leave out [retention].",
    ),
    "fleet-copied-partly": Words(
        "{place} has not all of it.",
        "Some entries could not be copied; the lines before say which.",
        "Mend it, and warm the place again: what is done stays done.",
    ),
    "fleet-report-unwritable": Words(
        "The report {file} cannot be written.", "{why}.", "Name another file, or make room there."
    ),
    "targets-unreadable": Words(
        "The list of targets cannot be read.",
        "{file}: {why}.",
        "Repair the file, or remove it and add the targets again.",
    ),
    "targets-unwritable": Words(
        "The list of targets cannot be written.",
        "{file}: {why}.",
        "Free some room, or correct the rights of the folder.",
    ),
    "fleet-told": Words("{what}", "{why}", "{remedy}"),
}
