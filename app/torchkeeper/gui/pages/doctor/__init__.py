"""The doctor's page: looking, what was found, and mending it."""
