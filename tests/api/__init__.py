"""What a script imports."""
