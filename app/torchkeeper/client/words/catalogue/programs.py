"""Words for what goes wrong with profiles, runs of programs, the doctor and engines."""

from torchkeeper.client.words.catalogue.words import ROOM, UNWRITABLE, Words

WORDS: dict[str, Words] = {
    # Profiles
    "profile-name": Words(
        "“{name}” cannot be the name of a profile.", "{why}.", "Give it another name."
    ),
    "profile-unknown": Words(
        "There is no profile “{name}”.",
        remedy="“torchkeeper config list” shows those that there are; a file is named with its "
        "folder, such as ./{name}.toml.",
    ),
    "profile-exists": Words(
        "There is a profile “{name}” already.", remedy="Give another name, or remove that first."
    ),
    "profile-changed": Words(
        "The profile “{name}” has changed.",
        "Another program has written into its file since it was read.",
        "Read it again, which loses what was changed here, or overwrite it.",
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
        remedy="“torchkeeper config settings” lists what does. Nothing was kept.",
    ),
    "profile-no-password": Words(
        "The profile “{name}” has no password that a Secret could hold.",
        remedy="Export it without --secret.",
    ),
    "secret-name": Words(
        "“{secret}” names no key of a Secret.", remedy="Give both, as in redis/url."
    ),
    "profile-without-caches": Words(
        "With the profile “{profile}” PyTorch keeps nothing that it compiles.",
        "{name} has the caches turned off.",
        "Change that in the profile, or use another one.",
    ),
    # Runs
    "command-not-python": Words(
        "{command} is not run by a Python.",
        "With --env, the command is “python …”, “FILE.py …” or “-m MODULE …”: {python} runs it.",
        "Leave --env out, and name a program of that environment by its path, such as "
        "{folder}/torchrun.",
    ),
    "command-line": Words(
        "The command cannot be run as it is written.",
        "{why}.",
        "Write the program and its arguments alone, or put the rest into a script.",
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
        "No job that is kept has an id that starts with “{job}”.",
        remedy="“torchkeeper jobs” lists them; “last” is the latest.",
    ),
    "job-ambiguous": Words(
        "{count} jobs have an id that starts with “{job}”.",
        remedy="Give more of the id; “torchkeeper jobs” lists them.",
    ),
    "run-unknown": Words(
        "No run that is kept has an id that starts with “{run}”.",
        remedy="“torchkeeper runs” lists them; “last” is the latest.",
    ),
    "run-ambiguous": Words("{count} runs start with “{run}”.", remedy="Give more of the id."),
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
        "{variant} had PyTorch look up no graph in its cache.",
        "It ran well, but has nothing to compile, is kept from being compiled, is compiled by "
        "another backend than inductor, or turns the caches off.",
        "Name in the recipe what the program has compiled, as “torchkeeper run -- COMMAND” shows "
        "it.",
    ),
    "not-found-again": Words(
        "{variant} was compiled, and is not found again: {found} of {of}.",
        "{why}.",
        "Programs would compile it again, too. The log may say why; see that nothing else writes "
        "to the place, and that no variable in the recipe turns the cache off.",
    ),
    "nothing-cached": Words(
        "Nothing of {variant} can be cached.",
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
        "Trying out the interpreter took longer than {limit_s} seconds and was stopped.",
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
    "mounts-unknown": Words("The system does not tell which file system it is."),
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
