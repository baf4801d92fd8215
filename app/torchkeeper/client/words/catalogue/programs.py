"""Words for what goes wrong with profiles, runs of programs, the doctor and engines."""

from torchkeeper.client.words.catalogue.words import ROOM, UNWRITABLE, Words

WORDS: dict[str, Words] = {
    # Profiles
    "profile-name": Words(
        "“{name}” cannot be the name of a profile.", "{why}.", "Give it another name."
    ),
    "profile-unknown": Words(
        "There is no profile “{name}”.",
        remedy="“torchkeeper config list” lists the profiles. Name a file with its folder, such as "
        "./{name}.toml.",
    ),
    "profile-exists": Words(
        "There is a profile “{name}” already.", remedy="Give another name, or remove that first."
    ),
    "profile-changed": Words(
        "The profile “{name}” has changed.",
        "Another program has written to its file since it was read.",
        "Read it again, which loses your changes, or overwrite it.",
    ),
    "profile-setting-unknown": Words(
        "{name} is not a setting of the caches.",
        remedy="“torchkeeper config settings” lists all that are known.",
    ),
    "profile-setting-misnamed": Words(
        "{name} is not a setting of the caches.", "{meant} is one.", "Give that name."
    ),
    "profile-value-impossible": Words("{name} cannot have this value.", "{why}.", "Change it."),
    "profile-about-too-long": Words(
        "The description of the profile is longer than {most} characters, or not a text."
    ),
    "profiles-unreadable": Words(
        "The list of profiles cannot be read.",
        "{folder} cannot be used: {why}.",
        "Check the folder's permissions.",
    ),
    "profile-unreadable": Words("{file} cannot be read.", "{why}.", "Check the path."),
    "profile-damaged": Words(
        "{file} is not a profile, or is damaged.",
        "{why}.",
        "Correct it in an editor, or remove it. Nothing was changed.",
    ),
    "profile-unwritable": Words("The profile could not be saved.", UNWRITABLE, ROOM),
    "profile-nothing-told": Words(
        "{file} sets no variable of the caches in a way that can be read.",
        "{name}: {why}. Torchkeeper runs nothing to find out more.",
        "Write the value itself, without a condition around it. A script must export the variable.",
    ),
    "profile-text-wrong": Words(
        "Line {line} cannot be read.", "{why}.", "Correct it, or name another format."
    ),
    "profile-text-uncarried": Words(
        "{name} cannot be written to a {format}.",
        "{why}.",
        "Choose another format; a script for sh can hold everything. Nothing was written.",
    ),
    "profile-stage-unknown": Words(
        "There is no stage {stage}.", "The file has {count} of them{names}.", "Name one of them."
    ),
    "profile-container-which": Words(
        "Several parts of the file set different variables.",
        "They are: {names}.",
        "Name one with --container NAME. For --profile, make a profile of it first, with "
        "“torchkeeper config import”.",
    ),
    "profile-container-unknown": Words(
        "There is no container {container}.", "There are: {names}.", "Name one of them."
    ),
    "profile-nothing-there": Words(
        "Nothing there sets a variable.",
        "It has no container with an env, and no ConfigMap.",
        "Give a manifest, or its env: alone.",
    ),
    "profile-secrets-only": Words(
        "Only Secrets set variables there.",
        "Torchkeeper does not read Secrets.",
        "Give the manifest of the container that takes its env from them.",
    ),
    "profile-import-nothing": Words(
        "{file} sets no variable that steers the caches.",
        remedy="“torchkeeper config settings” lists these. Nothing was kept.",
    ),
    "profile-no-password": Words(
        "The profile “{name}” has no password for a Secret.",
        remedy="Export it without --secret.",
    ),
    "secret-name": Words(
        "“{secret}” does not name a key of a Secret.", remedy="Name both, as in redis/url."
    ),
    "profile-without-caches": Words(
        "With the profile “{profile}” PyTorch keeps nothing that it compiles.",
        "{name} turns the caches off.",
        "Change that in the profile, or use another one.",
    ),
    "profile-password": Words(
        "The profile “{profile}” is not sent to {machine}.",
        "{name} has a password, and no password goes to another machine.",
        "Take it out of the profile, and set it in your account there.",
    ),
    # Runs
    "command-not-python": Words(
        "{command} is not a command for Python.",
        "With --env, the command is “python …”, “FILE.py …” or “-m MODULE …”: {python} runs it.",
        "Leave out --env, and name a program of that environment by its path, such as "
        "{folder}/torchrun.",
    ),
    "command-line": Words(
        "The command cannot be run as it is written.",
        "{why}.",
        "Write only the program and its arguments, or put the rest into a script.",
    ),
    "command-missing": Words(
        "There is no program {command}.",
        "It is neither a path, nor a program on the PATH.",
        "Check the name. Run a Python file with “python FILE.py”, or with --env.",
    ),
    "command-unusable": Words(
        "{command} cannot be started.",
        "{why}.",
        "Check its permissions. Run a Python file with “python FILE.py”, or with --env.",
    ),
    "runs-unwritable": Words(
        "The list of runs could not be changed.", "{folder} cannot be written: {why}.", ROOM
    ),
    "jobs-unwritable": Words("The history of jobs could not be changed.", UNWRITABLE, ROOM),
    "text-unwritable": Words("The text could not be saved.", UNWRITABLE, "Choose another folder."),
    "jobs-unreadable": Words(
        "The history of jobs could not be read.",
        "{file} cannot be read: {why}.",
        "Check the file's permissions.",
    ),
    "job-unknown": Words(
        "No job has an id that starts with “{job}”.",
        remedy="“torchkeeper jobs” lists them; “last” is the latest.",
    ),
    "job-gone": Words(
        "The job ended without a word.",
        "Its process is gone: it was killed, or the machine started anew.",
        "Start it again: what it had made by then is in its place.",
    ),
    "job-unreadable": Words("What the job has told cannot be read.", "{why}."),
    "job-elsewhere": Words(
        "The job runs on another machine.",
        "Several machines share the home of this account.",
        "End it from the machine that it runs on.",
    ),
    "jobs-too-many": Words(
        "{most} jobs run there already.",
        remedy="Wait until one has ended, or end one (torchkeeper jobs ssh://… --end ID).",
    ),
    "job-ambiguous": Words(
        "{count} jobs have an id that starts with “{job}”.",
        remedy="Give more of the id; “torchkeeper jobs” lists them.",
    ),
    "run-unknown": Words(
        "No run has an id that starts with “{run}”.",
        remedy="“torchkeeper runs” lists them; “last” is the latest.",
    ),
    "run-ambiguous": Words("{count} runs start with “{run}”.", remedy="Give more of the id."),
    "trace-missing": Words(
        "There is no trace {place}.",
        "PyTorch writes one if TORCH_TRACE names a folder.",
        "Check the path.",
    ),
    "trace-empty": Words(
        "{place} holds no trace of PyTorch.",
        "No line in it is a record of PyTorch.",
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
        "Nothing was run: no recipe can run this program.",
        "Python reads it from the standard input, which a warm-up does not have.",
        "Put the program into a file, and run that.",
    ),
    "recording-nothing": Words(
        "No recipe was written to {file}.",
        "The program compiled nothing that PyTorch looks up in its caches.",
        "It must call what torch.compile returned, with the backend inductor.",
    ),
    "recording-failed": Words(
        "No recipe was written to {file}.",
        "The program ended with exit code {status} before it compiled anything.",
        "Its own message is above; correct that first.",
    ),
    "script-failed": Words(
        "{command} failed: {status}.",
        "{why}",
        "The log has its whole output. Run the command alone in the recipe's folder, with the "
        "same interpreter.",
    ),
    "script-nothing": Words(
        "{command} ended well, but PyTorch looked up no graph in its cache.",
        "It began {compiles} compiles. If there are none, it called nothing that torch.compile "
        "returned. Else its caches are turned off, or its backend is not inductor.",
        "“torchkeeper run -- COMMAND” shows which graphs a command compiles.",
    ),
    "nothing-compiled": Words(
        "PyTorch looked up no graph of {variant} in its cache.",
        "It ran well, but it has nothing to compile, something prevents compiling, its backend is "
        "not inductor, or it turns the caches off.",
        "Name in the recipe what the program compiles. “torchkeeper run -- COMMAND” shows that.",
    ),
    "not-found-again": Words(
        "{variant} was compiled, but PyTorch finds only {found} of {of} again.",
        "{why}.",
        "Programs compile it again, too. The log may say why. Check that nothing else writes to "
        "the place, and that no variable in the recipe turns the cache off.",
    ),
    "nothing-cached": Words(
        "Nothing of {variant} can be cached.",
        "PyTorch compiled it, but bypassed its cache for all of its {bypasses} graphs: every "
        "program compiles them again.",
        "The reason is beside each graph: mostly a custom pass without a uuid, or an operator that "
        "PyTorch does not cache.",
    ),
    "script-missing": Words(
        "There is no file {file} to run.",
        "It is not in {folder}.",
        "The command's files are relative to its folder, and its folder is relative to the recipe.",
    ),
    "script-folder": Words(
        "There is no folder {folder} to run the command in.",
        "A script's folder is relative to the recipe.",
        "Correct “folder” in the recipe, or leave it out.",
    ),
    "warm-killed": Words(
        "{signal} ended the compile job.",
        "SIGKILL usually means that the machine ran out of memory. {why}",
        "The log says more. Nothing half-written was left.",
    ),
    "warm-timeout": Words(
        "Compiling took longer than {limit_s} seconds and was stopped.",
        "It may hang, or the limit is too short.",
        "The log says more. Nothing half-written was left.",
    ),
    # The doctor
    "check-failed": Words("{path} could not be read.", "{why}"),
    "toolchain-failed": Words(
        "The checks of the interpreter did not complete.", "{why}", "The log says more."
    ),
    "toolchain-stuck": Words(
        "Testing the interpreter took longer than {limit_s} seconds and was stopped.",
        "Its compiler hangs, or importing torch takes very long.",
        "Try again when the machine is less busy.",
    ),
    "interpreter-not-tried": Words(
        "The interpreter was not checked.", remedy="“torchkeeper doctor --env” checks it."
    ),
    "torch-not-tried": Words("torch cannot be imported.", "{why}"),
    "header-not-tried": Words(
        "It is not known whether the precompiled C++ header exists.",
        "The C++ compiler does not work, or this torch has no such header.",
    ),
    "no-verdicts": Words(
        "Stale entries are not known.", "The interpreter has no torch.", "Name one with --env."
    ),
    "mounts-unknown": Words("The system does not tell which file system it is on."),
    "unchanged": Words("It could not be changed.", "{why}"),
    "fix-unknown": Words("The engine does not know the fix “{fix}”."),
    "manual-unreadable": Words(
        "The manual cannot be read.", "{folder}: {why}.", "Install Torchkeeper again."
    ),
    # Engine
    "bad-request": Words("The engine did not understand a request.", "Its {field} is wrong."),
    "cancelled": Words("Cancelled."),
    "request-malformed": Words("The engine did not understand a request.", "{why}"),
    "operation-unknown": Words(
        "The engine cannot do “{operation}”.", remedy="Install the same version on both sides."
    ),
    "engine-bug": Words("Torchkeeper made a mistake.", "{why}", "Please report it, with the log."),
}
