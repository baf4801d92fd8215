"""What the manual's tables say that no other table does: kinds, words of filters, variables.
``tests/manual.py`` puts them into the pages; nothing of the program needs them.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """what: a kind of entry is. writer: who writes it."""

    what: str
    writer: str


#: Each of ``artifacts.entry.KINDS``.
KINDS = {
    "fxgraph": Kind("A compiled graph, with all that decided its key.", "PyTorch (Inductor)"),
    "aotautograd": Kind(
        "What was made of a graph before it was compiled, forward and backward. It names the FX "
        "graphs that it needs.",
        "PyTorch (AOTAutograd)",
    ),
    "code": Kind(
        "Generated Python or C++, with the shared object that was built of it.",
        "PyTorch (Inductor)",
    ),
    "triton": Kind("A compiled kernel with its metadata, in a folder of its own.", "Triton"),
    "autotune": Kind(
        "The configuration that was the fastest of those that were tried.", "PyTorch, Triton"
    ),
    "pgo": Kind("Which sizes a function has seen change.", "PyTorch (Dynamo)"),
    "precompile": Kind(
        "A whole compiled function with its guards: nothing is traced again.", "PyTorch (Dynamo)"
    ),
    "aoti_eager": Kind("A compiled operator of eager mode.", "PyTorch (AOTInductor)"),
    "ondisk": Kind(
        "A value that PyTorch or vLLM found out and keeps, as a padding.", "PyTorch, vLLM"
    ),
    "header": Kind(
        "A C++ header that was compiled ahead. It is no entry, and counted apart.", "the compiler"
    ),
    "lock": Kind("A lock of a writer. It is no entry, and counted apart.", "PyTorch, Triton"),
    "unknown": Kind(
        "A file that no known writer names so, there: yours, and never touched.", "anybody"
    ),
}

#: The environment variables that Torchkeeper itself reads, by what for. Those that steer PyTorch's
#: and Triton's caches are in ``settings.known``.
VARIABLES = {
    "Torchkeeper": {
        "TORCHKEEPER_TORCH_PYTHON": "The Python whose torch is used where none is named.",
        "TORCHKEEPER_REDIS_PASSWORD": "The password of a Redis server, so that none is asked for.",
        "TORCHKEEPER_SIGNERS": "A file of allowed signers: only what they signed is imported.",
        "VIRTUAL_ENV": "The active environment: its Python is offered.",
        "CONDA_PREFIX": "The same, of conda.",
        "PATH": "Where Python, compilers and ssh-keygen are looked for; folders with a whole path.",
    },
    "Where caches are looked for": {
        "VLLM_CACHE_ROOT": "Where vLLM has its caches; else vllm in XDG_CACHE_HOME.",
        "CC": "The C compiler that Triton would use: the doctor tries it.",
        "CXX": "The C++ compiler that PyTorch would use: the doctor tries it.",
        "ATEN_CPU_CAPABILITY": "Lowers the vector instructions that PyTorch takes for there.",
        "TORCH_INDUCTOR_INSTALL_GXX": "Has PyTorch install a compiler: its name is not asked then.",
    },
    "Where things are kept": {
        "HOME": "The home, where the variables below do not say otherwise.",
        "XDG_CONFIG_HOME": "Profiles, trusted signers and lists; else ~/.config.",
        "XDG_CACHE_HOME": "What was read of folders, so that the next look is fast; else ~/.cache.",
        "XDG_DATA_HOME": "Runs that are kept, and entries of menus; else ~/.local/share.",
        "XDG_DATA_DIRS": "Where else menus are looked for.",
        "XDG_STATE_HOME": "Records of changes that have begun; else ~/.local/state.",
        "XDG_RUNTIME_DIR": "The socket by which a second start finds the window.",
        "TMPDIR": "Temporary files, and PyTorch's default cache folder; else /tmp.",
    },
    "Terminal and desktop": {
        "TERM": "Nothing is bold or coloured where it is dumb.",
        "NO_COLOR": "Nothing is coloured where it is set.",
        "PAGER": "What shows a list that is longer than the screen; else less.",
        "DISPLAY": "The screen of X11.",
        "WAYLAND_DISPLAY": "The screen of Wayland.",
        "QT_QPA_PLATFORM": "How Qt shows windows; offscreen needs no screen.",
        "DBUS_SESSION_BUS_ADDRESS": "The bus of the session, for notifications.",
        "XDG_ACTIVATION_TOKEN": "From who started it: lets the window come to the front.",
        "DESKTOP_STARTUP_ID": "The same, of X11.",
        "SSH_AUTH_SOCK": "The agent whose keys can sign bundles.",
    },
}
