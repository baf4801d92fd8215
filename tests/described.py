"""What the manual's tables say that no other table does: kinds, words of filters, variables.
``tests/manual.py`` puts them into the pages; nothing of the program needs them.
"""

from __future__ import annotations

from typing import NamedTuple

from torchkeeper.artifacts.jits.known import CACHES


class Kind(NamedTuple):
    """what: a kind of entry is. writer: who writes it."""

    what: str
    writer: str


#: Each of ``artifacts.entry.KINDS``.
KINDS = {
    "fxgraph": Kind("A compiled graph, with all factors of its key.", "PyTorch (Inductor)"),
    "aotautograd": Kind(
        "The forward and backward graph that AOTAutograd traced. It names the FX graphs that it "
        "needs.",
        "PyTorch (AOTAutograd)",
    ),
    "code": Kind(
        "Generated Python or C++, with the shared object that was built from it.",
        "PyTorch (Inductor)",
    ),
    "triton": Kind("A compiled kernel with its metadata, in a folder of its own.", "Triton"),
    "autotune": Kind("The fastest of the configurations that were tried.", "PyTorch, Triton"),
    "pgo": Kind("Which sizes of a function changed from call to call.", "PyTorch (Dynamo)"),
    "precompile": Kind(
        "A whole compiled function with its guards: PyTorch does not trace it again.",
        "PyTorch (Dynamo)",
    ),
    "aoti_eager": Kind("A compiled operator of eager mode.", "PyTorch (AOTInductor)"),
    "ondisk": Kind(
        "A value that PyTorch or vLLM worked out and keeps, such as a padding.", "PyTorch, vLLM"
    ),
    "jit": Kind(
        "What another compiler made of a kernel, with its sources.",
        "DeepGEMM, FlashInfer, CuTe DSL, …",
    ),
    "header": Kind(
        "A C++ header that was compiled ahead. It is not an entry, and counted apart.",
        "the compiler",
    ),
    "lock": Kind("A lock of a writer. It is not an entry, and counted apart.", "PyTorch, Triton"),
    "unknown": Kind("Any other file. It is yours, and Torchkeeper never removes it.", "anybody"),
}

#: The environment variables that Torchkeeper itself reads, by what for. Those that steer PyTorch's
#: and Triton's caches are in ``settings.known``.
VARIABLES = {
    "Torchkeeper": {
        "TORCHKEEPER_TORCH_PYTHON": "The Python that Torchkeeper uses if you name no other one.",
        "TORCHKEEPER_REDIS_PASSWORD": "The password of a Redis server; nobody is asked for it.",
        "TORCHKEEPER_SIGNERS": "A file of allowed signers: import takes only what they signed.",
        "RAY_AUTH_TOKEN": "What tells a Ray cluster who asks, where it wants that.",
        "TORCHKEEPER_SLURM_FOLDER": "A folder that all machines of a Slurm cluster see, for jobs.",
        "VIRTUAL_ENV": "The active virtual environment, whose Python is used or offered.",
        "CONDA_PREFIX": "The same for conda.",
        "PATH": "Where to look for Python, compilers and ssh-keygen. Relative folders are ignored.",
    },
    "Where caches are looked for": {
        **{
            home[1:].partition("/")[0]: f"The folder of a cache of {cache.title}."
            for cache in CACHES
            for home in cache.homes
            if home.startswith("$") and not home.startswith("$XDG_")
        },
        "CUDA_CACHE_PATH": "The folder of the cache of CUDA's driver.",
        "PYTORCH_KERNEL_CACHE_PATH": "The folder of the kernels of PyTorch's jiterator.",
        "TORCH_EXTENSIONS_DIR": "The folder of PyTorch's C++ extensions.",
        "FLASHINFER_WORKSPACE_BASE": "The folder in which FlashInfer has .cache/flashinfer.",
        "SGLANG_CACHE_DIR": "The folder of SGLang's caches, with one for each compiler.",
        "SGLANG_DIFFUSION_CACHE_ROOT": "The same of its servers of images and videos; by default "
        "sgl_diffusion in XDG_CACHE_HOME.",
        "VLLM_CACHE_ROOT": "The folder of vLLM's caches; by default vllm in XDG_CACHE_HOME.",
        "CC": "The C compiler of Triton, which the doctor tries.",
        "CXX": "The C++ compiler of PyTorch, which the doctor tries.",
        "ATEN_CPU_CAPABILITY": "Limits the vector instructions that PyTorch uses.",
        "TORCH_INDUCTOR_INSTALL_GXX": "Makes PyTorch install a compiler, so that none is needed.",
    },
    "Where things are kept": {
        "HOME": "The home folder, for the defaults of the variables below.",
        "XDG_CONFIG_HOME": "Profiles, trusted signers and lists; by default ~/.config.",
        "XDG_CACHE_HOME": "An index of folders, for fast listing; by default ~/.cache.",
        "XDG_DATA_HOME": "Runs, jobs, and entries of menus; by default ~/.local/share.",
        "XDG_DATA_DIRS": "More folders with entries of menus.",
        "XDG_STATE_HOME": "Records of changes that have begun; by default ~/.local/state.",
        "XDG_RUNTIME_DIR": "The socket by which a second start finds the window.",
        "TMPDIR": "Temporary files, and PyTorch's default cache folder; by default /tmp.",
    },
    "Terminal and desktop": {
        "TERM": "If it is dumb, nothing is bold or coloured.",
        "NO_COLOR": "If it is set, nothing is coloured.",
        "PAGER": "The program for lists that are longer than the screen; by default less.",
        "DISPLAY": "The screen of X11.",
        "WAYLAND_DISPLAY": "The screen of Wayland.",
        "QT_QPA_PLATFORM": "How Qt shows windows; offscreen needs no screen.",
        "DBUS_SESSION_BUS_ADDRESS": "The bus of the session, for notifications.",
        "XDG_ACTIVATION_TOKEN": "The desktop sets it, so that the window comes to the front.",
        "DESKTOP_STARTUP_ID": "The same for X11.",
        "SSH_AUTH_SOCK": "The agent whose keys can sign bundles.",
        "SSH_ORIGINAL_COMMAND": "What the other machine asks for, where sshd starts `serve`.",
    },
}
