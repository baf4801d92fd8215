"""Bundles and mega-caches: one file of entries, read, written and signed."""
