"""Pictures of the window."""
