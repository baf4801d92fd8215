"""Words for what goes wrong on the way to another machine; ``why`` is what ssh says itself."""

from torchkeeper.client.words.catalogue.words import Words
from torchkeeper.client.words.tongue import Text

_BY_HAND: Text = "“{command}” shows the same by hand."
_SAME: Text = "“{command}” has to work without a word of yours; ssh-add gives a key to ssh-agent."

WORDS: dict[str, Words] = {
    "ssh-address-wrong": Words(
        "The address of a place on another machine is wrong.",
        "Expected: {why}.",
        "Write ssh://[user@]host[:port]/absolute/path, or /~/path from the home there.",
    ),
    "place-machine": Words(
        "{machine} is a machine, and no place on it.",
        "The name of a place has a path, too.",
        "“torchkeeper places {machine}” lists its caches; {machine}/~/folder is one below the "
        "home there.",
    ),
    "ssh-missing": Words(
        "No other machine can be reached.",
        "There is no ssh on PATH.",
        "Install OpenSSH's client; in Debian the package openssh-client.",
    ),
    "ssh-key-unknown": Words(
        "The key of {machine} is not known.",
        "{why}",
        "Compare it with one that you trust: “{command}” shows it, and keeps it on a yes.",
    ),
    "ssh-key-changed": Words(
        "The key of {machine} is not the one that is known.",
        "{why}",
        "Ask who runs the machine whether the key is new. If not, somebody may listen.",
    ),
    "ssh-denied": Words("{machine} does not let you in.", "{why}", _SAME),
    "ssh-host-unknown": Words(
        "There is no machine {machine}.",
        "{why}",
        "Check the name, and the Host lines of ~/.ssh/config.",
    ),
    "ssh-refused": Words(
        "{machine} takes no connection.", "{why}", "Check the port, and whether sshd runs there."
    ),
    "ssh-silent": Words(
        "{machine} does not answer.",
        "{why}",
        "Check that it runs, and the network or VPN on the way to it.",
    ),
    "machine-stuck": Words(
        "The engine of {machine} does not answer.",
        "It has said nothing new for {seconds} seconds.",
        "Look there at what hangs: often a disk of the network that is away. One that is asked "
        "alone is waited for.",
    ),
    "ssh-no-python": Words(
        "There is no python3 on {machine}.",
        "{why}",
        "Install Python 3.10 or newer there, where the PATH of a login by ssh finds it.",
    ),
    "ssh-python-old": Words(
        "The python3 of {machine} is too old.",
        "It is Python {version}.",
        "Install Python 3.10 or newer there, and put it first on the PATH of a login by ssh.",
    ),
    "ssh-failed": Words("There is no way to {machine}.", "{why}", _BY_HAND),
    "ssh-lost": Words(
        "The connection to {machine} broke.",
        "{why}",
        "Try again: a file on its way goes on from where it was. What had begun to change there is "
        "taken back, or complete.",
    ),
    "ssh-misspoken": Words(
        "{machine} does not speak as Torchkeeper does.",
        "{why}",
        "Look at what the account there starts by itself, and whom the machine belongs to.",
    ),
    "ssh-direct": Words(
        "{source} cannot send a file to {target} by its own ssh.",
        "{why}",
        "Leave “direct” out: it then goes by way of this machine. Or see to it that on {source} "
        "“{command}” works without a word of yours; ssh-copy-id puts its key there.",
    ),
    "ray-address-wrong": Words(
        "The address of a Ray cluster is wrong.",
        "Found: {target}.",
        "Write http://head:8265, which is the address of its dashboard; ray://head is that of "
        "the host “head”.",
    ),
    "ray-away": Words(
        "The Ray cluster {target} does not do what is asked.",
        "{why}",
        "Check the address in a browser, and that the cluster was started with its dashboard "
        "(ray[default]).",
    ),
    "ray-no-room": Words(
        "Nothing can run on {node}.",
        "Ray says that this node offers no CPU and no GPU.",
        "Take another node; this one may be meant so, as heads often are.",
    ),
    "ray-node-lost": Words(
        "What ran on {node} is lost.",
        "{why}",
        "Look at the node and its memory; it is done again on another one.",
    ),
    "ray-no-python": Words(
        "The Python on {node} does not run Torchkeeper’s engine.",
        "{why}",
        "Name another one there: Python 3.10 or newer, with torch.",
    ),
    "ray-unit-failed": Words(
        "Something on {node} could not be done.",
        "{why}",
        "Look at the disk and the temporary folder there.",
    ),
    "slurm-missing": Words(
        "Slurm’s commands are not on this machine.",
        "There is no “{name}” on the PATH.",
        "Give the same command where “sbatch” works, as on a login node of the cluster.",
    ),
    "slurm-failed": Words(
        "Slurm’s “{name}” fails.",
        "{why}",
        "See whether “scontrol ping” and “sinfo” answer on this machine: SLURM_CONF names the "
        "cluster’s configuration. If only “sbatch” fails, give what it asks for, such as "
        "SBATCH_ACCOUNT or SBATCH_TIMELIMIT.",
    ),
    "slurm-partition": Words(
        "{target} names no partition.",
        remedy="Give one, such as slurm:gpu; “sinfo” lists them.",
    ),
    "slurm-no-node": Words(
        "Slurm tells of no node of {target}.",
        "There is no partition of that name, or none is the default.",
        "Name one that “sinfo” lists, such as slurm:gpu.",
    ),
    "slurm-job-lost": Words(
        "{what}",
        "{why}",
        "Name a Python that all nodes have, and with TORCHKEEPER_SLURM_FOLDER a folder that all of "
        "them see. SBATCH_TIMELIMIT gives jobs more time.",
    ),
    "slurm-node-away": Words(
        "{node} takes no jobs.",
        "Slurm says: {state}.",
        "“scontrol show node {node}” says more. Once it is back, the same command uses it.",
    ),
    "recipe-folder-large": Words(
        "There is too much beside the recipes in {folder}.",
        "The Python files in it and below, and those that the recipes name, have to be sent: at "
        "most {files} files and {most}.",
        "Put the recipe and its Python files into a folder of their own.",
    ),
    "hosts-unreadable": Words(
        "The list of machines cannot be read.",
        "{file}: {why}.",
        "Repair the file, or remove it and add the machines again.",
    ),
    "hosts-unwritable": Words(
        "The list of machines cannot be written.",
        "{file}: {why}.",
        "Free some room, or correct the rights of the folder.",
    ),
    "hosts-none": Words(
        "There is no machine in the group {group}.",
        remedy="“torchkeeper hosts list” lists them; “torchkeeper hosts add” adds some. "
        "If {group} is a machine, write ssh://{group}.",
    ),
    "hosts-unknown": Words(
        "{machine} is not on the list of machines.",
        remedy="“torchkeeper hosts list” lists them.",
    ),
    "hosts-name": Words(
        "{name} is no name of machines.",
        remedy="Write [user@]host[:port]; “gpu[03-16]” stands for several, for 4,096 at most.",
    ),
    "hosts-group": Words(
        "A group cannot be called {group}.",
        remedy="Write letters, digits, “_”, “.” and “-”, of which the last two are not the first; "
        "“all” are all machines.",
    ),
    "place-elsewhere": Words(
        "{place} is on another machine.",
        "This cannot be done there yet.",
        "Log in there, and do it with a Torchkeeper of that machine.",
    ),
    "sign-elsewhere": Words(
        "{place} is on another machine.",
        "A key signs only what is on this machine: that can be read before, and nobody else can "
        "exchange it.",
        "“export --sign” signs what comes here. A bundle that is to stay there can be fetched, "
        "signed here and sent back, with scp.",
    ),
    "places-apart": Words(
        "These places are on different machines.",
        "{place} is on another than {other}.",
        "Give one command for each machine; “copy” goes from one to the other.",
    ),
    "place-not-served": Words(
        "{place} is not among what this key may see.",
        "The other machine serves some folders alone (torchkeeper serve --only).",
        "Name a place below one of them, or ask who runs the machine.",
    ),
    "not-served": Words(
        "This key may not do that.",
        "The other machine does not let it ask for “{what}” (torchkeeper serve).",
        "Ask who runs the machine; with --read-only a key changes nothing.",
    ),
}
