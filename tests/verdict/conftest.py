"""Real torch and a real server, as the tests of settings have them."""

from tests.settings.conftest import redis, server, torch

__all__ = ["redis", "server", "torch"]
