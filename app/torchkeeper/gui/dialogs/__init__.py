"""The dialogs: what is asked before something is done, and what came of it."""
