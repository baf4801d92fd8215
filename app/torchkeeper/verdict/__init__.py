"""Facts about an environment."""
