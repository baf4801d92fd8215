"""The first steps: a guide through a whole round, on the recipe that comes with Torchkeeper."""
