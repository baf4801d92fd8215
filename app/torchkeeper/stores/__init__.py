"""Where entries live: folders and bundles; copies between them; trash and undo."""
