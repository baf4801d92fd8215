"""The pages of the window: which there are, what they share, and going from one to another."""
