"""Recipes: what to compile and in which ways, as data; their variants; what is foreseen of them."""
