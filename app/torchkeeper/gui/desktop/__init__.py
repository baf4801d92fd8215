"""What the window has to do with the desktop around it."""
