"""Fleets: many machines that warm one place."""

from torchkeeper.client.words.catalogue.words import Words

WORDS: dict[str, Words] = {
    "target-unknown": Words(
        "“{target}” is no target.",
        "A target is “local”, “ssh://host”, or a group of hosts.",
        "“torchkeeper hosts” lists your groups.",
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
        "Give the same command again once they are back: what is done stays done.",
    ),
    "fleet-failed": Words(
        "It failed on {nodes}.",
        "The log of each node says why.",
        "Mend it, and give the same command again.",
    ),
    "fleet-unproven": Words(
        "It could not be proven on {nodes}.",
        "The log says why.",
        "Mend it, and give the same command again.",
    ),
    "fleet-busy": Words(
        "Somebody else warms this place with a fleet.",
        "{folder} is locked.",
        "Wait until that is done, or name another folder with --state.",
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
