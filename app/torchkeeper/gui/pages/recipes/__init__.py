"""Recipes in the window: the list that is kept, the choice of some, and their text."""
