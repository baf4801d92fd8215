"""Words for what goes wrong while something is compiled, verified or prepared."""

from torchkeeper.client.words.catalogue.words import ROOM, UNWRITABLE, Words

WORDS: dict[str, Words] = {
    # Warming
    "variant-unknown": Words(
        "There is no variant “{variant}”.",
        "The recipes have no variant with this name or number. Similar names: {near}.",
        "“torchkeeper recipe show” lists the variants of a recipe; they are numbered from 0.",
    ),
    "recipe-unknown": Words(
        "There is no recipe “{recipe}”.",
        "It is neither a file nor a folder, nor “builtin”.",
        "Check the path. “torchkeeper recipe new” writes an example.",
    ),
    "recipe-wrong": Words(
        "The recipe “{recipe}” is wrong at {where}.",
        "There: {expected}",
        "“torchkeeper recipe check” names every fault with its line.",
    ),
    "recipe-syntax": Words(
        "{file}, line {line}, column {column}, is not TOML.",
        "{why}.",
        "Correct the line. Write texts in quotes, and lists in brackets.",
    ),
    "recipe-program": Words(
        "{file} is a program, not a recipe.",
        remedy="Cache > Run a program, or “torchkeeper run”, makes a recipe of what it compiles.",
    ),
    "recipe-unreadable": Words(
        "The recipe {file} cannot be read.",
        "{why}.",
        "Check that it is a text file, and its permissions.",
    ),
    "recipe-too-large": Words(
        "The recipe {file} is too large.",
        "It has {size}; a recipe has at most {most}.",
        "Check that it is the file you mean, or split it.",
    ),
    "recipes-none": Words(
        "There is no recipe in {folder}.",
        "Neither it nor a folder in it has a file that ends with .toml.",
        "Check the path. “torchkeeper recipe new” writes an example.",
    ),
    "recipes-too-many": Words(
        "There are too many recipes in {folder}.",
        "It has more than {most} files that end with .toml.",
        "Name a smaller folder.",
    ),
    "recipes-too-large": Words(
        "The recipes are too large together.",
        "They have {size}; the limit is {most}.",
        "Give fewer at once.",
    ),
    "variants-too-many": Words(
        "There are too many combinations.",
        "The recipes have {variants}; the limit is {most}.",
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
        "The recipes have changed, and no longer have the variants that failed.",
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
        "Compiling needs the torch that the entries are for.",
        "Choose an interpreter with torch, or install torch there.",
    ),
    "probe-stuck": Words(
        "{python} does not answer.",
        "Its torch was not imported within {seconds} seconds.",
        "See whether “import torch” ends there, and how long it takes.",
    ),
    "interpreters-unreadable": Words(
        "The list of interpreters cannot be read.",
        "{file}: {why}.",
        "Repair that file. Or remove it, and add your interpreters again.",
    ),
    "interpreters-unwritable": Words(
        "The list of interpreters cannot be changed.", "{file}: {why}.", "Check that folder."
    ),
    "interpreter-not-added": Words(
        "{python} is not on the list of interpreters.",
        "You can only remove interpreters that you added; Torchkeeper found the others.",
        "“torchkeeper env” lists them.",
    ),
    "environment-no-torch": Words(
        "{python} has no torch.",
        "What is asked needs an interpreter with torch.",
        "Choose an interpreter with torch: --env, or TORCHKEEPER_TORCH_PYTHON.",
    ),
    "environment-torch-elsewhere": Words(
        "{python} has no torch.",
        "Torchkeeper found a torch at {found}. It did not start that, because this runs code of "
        "its folder, and you have not added it.",
        "“--env {quoted}” uses it once, “torchkeeper env --add {quoted}” from now on.",
    ),
    "environments-none": Words(
        "Torchkeeper does not know what is stale everywhere: it found no environment.",
        "No interpreter on this machine has torch.",
        "Name one with --env, or add it to the list with “torchkeeper env --add PYTHON”.",
    ),
    "environment-unasked": Words(
        "Torchkeeper does not know what is stale everywhere: {python} does not answer.",
        "{why}",
        "Repair it, or name with --env the interpreters that count.",
    ),
    "environment-not-started": Words(
        "Torchkeeper found {python}, but did not start it.",
        "Starting it runs code of its folder, and you have not added it. So Torchkeeper does not "
        "know which entries it can use.",
        "“torchkeeper env --add {quoted}” adds it to the list of interpreters that Torchkeeper "
        "starts. --env names the interpreters for this command.",
    ),
    "environment-wanted": Words(
        "The filter asks for verdicts, but no environment is chosen.",
        "An entry can be usable in one environment and stale in another.",
        "Choose an interpreter with torch.",
    ),
    "environment-forgotten": Words(
        "The environment of {python} is not known any more.",
        "The engine that knew it has restarted.",
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
    # Variants
    "module-missing": Words(
        "There is no module {module}.",
        "Torchkeeper looked for it in {folder}, the folder of the recipe, and in the chosen "
        "interpreter.",
        "Correct its name, or move the recipe.",
    ),
    "module-needs": Words(
        "{module} cannot be imported.",
        "It needs {missing}, which the chosen interpreter does not have.",
        "Install {missing} there, or choose an interpreter that has it.",
    ),
    "name-missing": Words(
        "{module} has no {name}.", "Similar names: {near}.", "Correct the recipe."
    ),
    "not-callable": Words(
        "{name} cannot be called.",
        "It is a {found}.",
        "Name a function, a class, or a model that takes inputs.",
    ),
    "example-wrong": Words(
        "{name} returned something that cannot be compiled.",
        "It returned {found}. An example returns (model, inputs) or (model, inputs, keyword "
        "inputs). A factory returns a model or a function.",
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
        "Correct “args” in the recipe. It also gets sizes, device and dtype, if it has parameters "
        "with these names.",
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
        "There is no backward pass.",
        "No output of {variant} depends on a parameter or an input that has a gradient.",
        "Set requires_grad = true for an input, or take “backward” out of the recipe.",
    ),
    "exported-unreadable": Words(
        "{file} cannot be read as an exported program.",
        "{why}",
        "Write it with torch.export.save, using the torch that will load it.",
    ),
    "variant-memory": Words(
        "Compiling took more memory than the limit.",
        "It took {used_mb} MB; the limit is {limit_mb} MB.",
        "Raise the limit in the recipe, or warm fewer at a time. Nothing half-written was left.",
    ),
    "eager-failed": Words(
        "{op} could not be compiled for eager mode.",
        "{why}",
        "The log has all of it. Only inputs of these shapes and types are affected.",
    ),
    "triton-missing": Words(
        "{python} has no Triton.",
        "Kernels must be compiled by the Triton of the program that launches them.",
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
        "Arguments of {kernel} are missing: {missing}.",
        "It takes {takes}, and the missing ones have no default.",
        "Put the types of what a launch passes into the signature, and the rest into constants.",
    ),
    "kernel-argument": Words(
        "No launch of {kernel} passes {argument} as {asked}.",
        "Triton makes it {made}. It passes whole numbers as i32, i64 or u64, and others as fp32, "
        "unless the kernel annotates the argument with another type.",
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
        "{place} is a server, but Verify needs a folder or a bundle.",
        "A verification has only a copy of the place, and servers hold no built objects.",
        "Copy it to a bundle first, and verify that: torchkeeper copy {place} FILE.torchcache.",
    ),
    "nothing-to-verify": Words(
        "There is nothing to verify in {place}.",
        "It holds no FX graph and no AOTAutograd entry, so nothing in it can hit.",
        "Warm it first, or choose another place.",
    ),
    "verify-which": Words(
        "{place} holds {count} caches, but a program uses one: nothing was verified.",
        "The caches are {folders}.",
        "Verify one of these folders.",
    ),
    "verify-no-room": Words(
        "There is no room to verify.",
        "A copy and the precompiled headers of PyTorch take about {needed_mb} MB; {place} has "
        "{free_mb} MB.",
        "Free some room, or name a folder on another disk in TMPDIR.",
    ),
    "verify-crashed": Words(
        "{signal} ended the program with {place} as its cache.",
        "An object in the cache is damaged or holds machine code for another CPU, unless the "
        "recipe itself ends like this.",
        "Do not use it. Purge its objects (--filter kind:code): PyTorch builds them again.",
    ),
    "verify-nonsense": Words(
        "The result of the verification cannot be read.",
        "The answer of the engine has a wrong form: {why}.",
        "Install the same version on both sides; a recipe must not write to the engine's output.",
    ),
    "mega-cache-unsupported": Words(
        "The torch {torch} has no mega-cache to compare with.",
        "torch.compiler.save_cache_artifacts() returned nothing.",
        "Verify without the comparison: --quick.",
    ),
    "threads-out-of-range": Words(
        "{threads} is not a number of threads.",
        "A program has 1 to {most}.",
        "Give the number of cores that the program will have.",
    ),
    "threads-not-taken": Words(
        "PyTorch does not use {threads} threads here, but {here}.",
        "Something other than OMP_NUM_THREADS decides: a variable of OpenMP or MKL, or a "
        "sitecustomize.",
        "Remove that setting, or set the number there.",
    ),
    # Preparing
    "headers-off": Words(
        "There is nothing to prepare: precompiled headers are off.",
        "{variable}=0 is set, and programs with this setting need no header.",
        "Unset it to prepare for programs without this setting.",
    ),
    "headers-unknown": Words(
        "There is nothing to prepare: torch {torch} precompiles no header.",
        remedy="If your programs use another interpreter, choose that.",
    ),
    "headers-elsewhere": Words(
        "PyTorch does not look for headers in {wanted}.",
        "It always looks in {folder}.",
        "Name that folder, or leave --into out.",
    ),
    "header-refused": Words(
        "The C++ compiler does not take the header that it precompiled.",
        "The compiler built {path}, but does not use it, so programs gain nothing.",
        "Name another compiler in CXX, or warm with --portable, which needs no header.",
    ),
    "openssl-missing": Words(
        "No working openssl was found.",
        "PyTorch needs it for the names of its precompiled headers. Without it, PyTorch compiles "
        "nothing for the CPU.",
        "Install openssl (on Debian: apt install openssl), or warm with --portable, without "
        "precompiled headers.",
    ),
    "prepare-failed": Words(
        "The environment could not be prepared.",
        "{why}",
        "The log says more. Nothing half-written was left.",
    ),
    "prepare-killed": Words(
        "{signal} ended the compiler of the header.",
        "SIGKILL usually means that the machine ran out of memory. {why}",
        "Nothing half-written was left.",
    ),
    "prepare-timeout": Words(
        "Precompiling took longer than {limit_s} seconds and was stopped.",
        "It usually takes less than a minute.",
        "Try again; nothing half-written was left.",
    ),
}
