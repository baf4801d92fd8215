"""The page of the settings: profiles in a form, their files, and where values come from."""
