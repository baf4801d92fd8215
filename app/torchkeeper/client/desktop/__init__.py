"""What a desktop is told of the app: where it stands in the menu, and what its files are."""
