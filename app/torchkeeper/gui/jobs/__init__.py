"""What was asked to be done: how far it is, what it says, and what comes of it."""
