"""Tests of what steers the caches."""
