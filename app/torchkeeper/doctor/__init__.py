"""What is wrong with the caches of a machine: one check a module, each with its evidence."""
