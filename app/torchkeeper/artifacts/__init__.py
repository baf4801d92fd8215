"""What the files mean: one module per format; bytes in, facts out, no I/O of its own."""
