"""A fleet: a matrix of recipes, warmed on many machines into one place, and proven."""
