"""Profiles: named sets of settings, kept, written for others to read, and read back."""
