"""Recipes: what to compile and in which ways, as data; their cells; what is foreseen of them."""
