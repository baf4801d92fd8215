"""What is dragged out of the window, and what is dropped on it."""
