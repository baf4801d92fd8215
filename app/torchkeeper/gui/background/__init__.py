"""What is done away from the main thread, and the main thread's handle on it."""
