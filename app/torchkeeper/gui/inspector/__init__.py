"""The inspector: what there is to know of one entry, or of several."""
