"""Help within the window: what its ideas mean, said where they are met and on one page."""
