"""Words for what the doctor finds in what vLLM keeps."""

from torchkeeper.client.words.catalogue.words import Forms, Words

WORDS: dict[str, Words] = {
    "vllm-own-variables": Words(
        "The keys of vLLM in {place} hold what is one pod's own: {names}.",
        "A pod with other values compiles everything again, although the code is the same.",
        "Give all pods the same values, or leave them out. “torchkeeper check” with --against says "
        "what a pod would find.",
    ),
    "vllm-secret": Words(
        "A secret stands in clear text in {place}: {names}.",
        "vLLM wrote it into {path}: 0.12 to 0.28 do so, 0.31 does not. Whoever reads the folder, "
        "or a copy of it, can read it.",
        "Change the secret, update vLLM, and remove the folder.",
    ),
    "vllm-moved": Words(
        Forms(
            "{count} list of vLLM's pieces in {place} names another folder: {path}.",
            "{count} lists of vLLM's pieces in {place} name other folders: {path} and others.",
        ),
        Forms(
            "It was moved or copied from {other}. vLLM before 0.32 looks for each piece there, and "
            "does not start without it; later versions go by its name.",
            "They were moved or copied, one of them from {other}. vLLM before 0.32 looks for the "
            "pieces there, and does not start where they are not; later versions go by the names.",
        ),
        "“torchkeeper copy” copies with the new paths put in. Or update vLLM.",
    ),
    "vllm-compiled-again": Words(
        "vLLM has compiled the same {count} times: the keys differ in {names} alone, which cannot "
        "change code.",
        "They are {keys} in {folders}. All but one are for nothing, and take {size_bytes}.",
        "Give all pods the same values, or leave them out.",
    ),
}
