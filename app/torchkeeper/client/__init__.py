"""How the command line and the window reach an engine."""
