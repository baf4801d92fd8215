"""What people are told, in the same words by the window and the command line."""
