"""The variants of a warm-up: what each is at, the phases of its compiles, and why one failed."""
