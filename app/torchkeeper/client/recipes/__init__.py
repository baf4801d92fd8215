"""Recipes as files, and those that are written by listening to a program."""
