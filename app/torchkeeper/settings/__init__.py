"""What steers the caches: each setting described once, the rules between them, their origins."""
