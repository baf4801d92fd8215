"""The process that does the work: it serves requests on standard input and output."""
