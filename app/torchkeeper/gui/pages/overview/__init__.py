"""The first page: what the caches of this machine hold and cost, and what of it could go."""
