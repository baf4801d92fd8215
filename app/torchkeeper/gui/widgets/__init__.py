"""What any part of the window is built from."""
