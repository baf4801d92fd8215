"""Words for what goes wrong while something is compiled, verified or prepared."""

from torchkeeper.client.words.catalogue.words import ROOM, UNWRITABLE, Words

WORDS: dict[str, Words] = {
    # Warming
    "variant-unknown": Words(
        "There is no variant “{variant}”.",
        "The recipes have none of this name, nor as many. Names that are like it: {near}.",
        "“torchkeeper recipe show” lists the variants of a recipe; they are numbered from 0.",
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
    "variants-too-many": Words(
        "There are too many combinations.",
        "The recipes have {variants}, and {most} is the most at once.",
        "Make a matrix smaller, or give fewer recipes at once.",
    ),
    "recipes-unreadable": Words(
        "The list of recipes cannot be read.",
        "{file} cannot be used: {why}.",
        "Repair the file, or remove it to begin a new list.",
    ),
    "recipes-unwritable": Words("The list of recipes could not be kept.", UNWRITABLE, ROOM),
    "recipe-not-listed": Words(
        "{file} is not in the list of recipes.", remedy="“torchkeeper recipe list” shows what is."
    ),
    "recipe-exists": Words(
        "{file} is there already.",
        "Nothing was written.",
        "Choose another name, or add --force to replace it.",
    ),
    "rest-gone": Words(
        "No variant is left to warm.",
        "The recipes were changed, and make none of the variants that failed any more.",
        "Warm the recipes as they are now, or verify the place.",
    ),
    "recipe-changed": Words(
        "{file} has changed since it was read.",
        "Another program wrote to it.",
        "Overwrite it with your text, read it again, or save your text as another file.",
    ),
    "recipe-unwritable": Words("{file} cannot be written.", "{why}.", ROOM),
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
        "Verdicts need a torch to ask.",
        "Choose an interpreter with torch: --env, or TORCHKEEPER_TORCH_PYTHON.",
    ),
    "environment-torch-elsewhere": Words(
        "{python} has no torch.",
        "A torch was found at {found}. It was not started, because that runs code of its folder, "
        "and nobody has added it.",
        "“--env {quoted}” takes it this once, “torchkeeper env --add {quoted}” from now on.",
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
        "Starting it runs code of its folder, and nobody has added it. So it is not known which "
        "entries it can use.",
        "“torchkeeper env --add {quoted}” adds it to the list of those that are started; --env "
        "names the interpreters for this command.",
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
        "No output of {variant} depends on a parameter, or on an input, that has a gradient.",
        "Set requires_grad = true for an input, or take “backward” out of the recipe.",
    ),
    "exported-unreadable": Words(
        "{file} cannot be read as an exported program.",
        "{why}",
        "Write it with torch.export.save, of the torch that is to load it.",
    ),
    "variant-memory": Words(
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
    # Verifying
    "verify-server": Words(
        "{place} is a server, and Verify needs a folder or a bundle.",
        "A verification runs on a copy of the target alone, and servers hold no built objects.",
        "Copy it to a bundle first, and verify that: torchkeeper copy {place} FILE.torchcache.",
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
        "{signal} ended the program with {place} as its cache.",
        "An object in the cache is damaged or holds machine code for another CPU, unless the "
        "recipe ends so by itself.",
        "Do not use it. Purge its objects (--filter kind:code): PyTorch builds them again.",
    ),
    "verify-nonsense": Words(
        "The result of the verification cannot be read.",
        "The engine's answer is not of the form it has: {why}.",
        "Install the same version on both sides; a recipe must not write to the engine's output.",
    ),
    "mega-cache-unsupported": Words(
        "The torch {torch} has no mega-cache to compare with.",
        "torch.compiler.save_cache_artifacts() returned nothing.",
        "Verify without the comparison: --quick.",
    ),
    "threads-out-of-range": Words(
        "{threads} is not a number of threads.",
        "A program has from 1 to {most}.",
        "Give the number of cores that the program will have.",
    ),
    "threads-not-taken": Words(
        "PyTorch does not take {threads} threads here, but {here}.",
        "Something else than OMP_NUM_THREADS decides: a variable of OpenMP or MKL, or a "
        "sitecustomize.",
        "Remove that setting, or set the number there.",
    ),
    # Preparing
    "headers-off": Words(
        "There is nothing to prepare: no header is precompiled.",
        "{variable}=0 is set, and programs that have it set need none.",
        "Unset it to prepare for programs that have it not.",
    ),
    "headers-unknown": Words(
        "There is nothing to prepare: torch {torch} precompiles no header.",
        remedy="Choose another interpreter, if programs run under another.",
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
        "{signal} ended the precompiling.",
        "SIGKILL usually means that the machine ran out of memory. {why}",
        "Nothing half-written was left.",
    ),
    "prepare-timeout": Words(
        "Precompiling took longer than {limit_s} seconds and was stopped.",
        "It usually takes less than a minute.",
        "Try again; nothing half-written was left.",
    ),
}
