"""Profiles in the window: the form, its checks, and what is read and written for it."""
