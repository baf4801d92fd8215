"""Cache folders on the disk: reading one, and changing it so that nothing is lost."""
