"""Names and bounds of compiles and verifications, for those who offer and those who do them."""

#: What has PyTorch precompile no header, set to 0 (torch/_inductor/config.py).
PRECOMPILE = "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"
#: Threads a program may be warmed for; kernels are run with so many.
MOST_THREADS = 1024
#: Processes that compile at a time.
MOST_JOBS = 256

#: The runs of a verification, in the order in which they are made and told (warm/verify.py).
RUNS = ("cold", "mega", "warm", "prepared")
#: Why variants of a source are in no mega-cache, as a result says it.
NO_MEGA = {"script": "script", "eager": "no-graphs", "triton": "no-graphs"}
#: Those that the target is judged by.
JUDGED = ("warm", "prepared")
