"""How entries are made: recipes and the compile job."""
