"""All checks, in the order in which they are made and told."""

from torchkeeper.doctor import folders, interpreter, remote, vllm
from torchkeeper.doctor.check import Check

CHECKS: tuple[Check, ...] = (
    Check("file-system", "folder", folders.file_system),
    Check("room", "folder", folders.room),
    Check("owner", "folder", folders.owner),
    Check("names", "folder", folders.names),
    Check("clock", "folder", folders.clock),
    Check("leftovers", "folder", folders.leftovers),
    Check("broken", "folder", folders.broken, reads=True),
    Check("orphaned", "folder", folders.orphaned, reads=True),
    Check("stale", "folder", folders.stale, reads=True),
    Check("unsafe", "folder", folders.unsafe, reads=True),
    Check("threads", "folder", folders.threads, reads=True),
    Check("vllm-variables", "folder", vllm.kept),
    Check("trash", "folder", folders.trash),
    Check("reachable", "server", remote.reachable),
    Check("exposed", "server", remote.exposed),
    Check("writes", "server", remote.writes),
    Check("memory", "server", remote.memory),
    Check("expiry", "server", remote.expiry),
    Check("torch", "machine", interpreter.torch),
    Check("compiler", "machine", interpreter.compiler),
    Check("header", "machine", interpreter.header),
    Check("triton", "machine", interpreter.triton),
    Check("gpu", "machine", interpreter.gpu),
    Check("settings", "machine", interpreter.switches),
    Check("headers-owner", "machine", folders.headers),
    Check("unread", "machine", folders.unread),
    Check("duplicates", "machine", folders.duplicates, reads=True),
    Check("vllm-elsewhere", "machine", vllm.elsewhere),
    Check("vllm-alike", "machine", vllm.alike),
)
