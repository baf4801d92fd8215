"""For whoever scripts it: what ``import torchkeeper`` offers, over the same engines."""
