"""The left side of the window: its pages, the places, and the environments."""
