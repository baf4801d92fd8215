"""The page of fleets: many machines that warm one place."""
