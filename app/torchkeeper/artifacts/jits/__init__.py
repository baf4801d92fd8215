"""Caches of other just-in-time compilers: what each module says of one is all that is known."""
