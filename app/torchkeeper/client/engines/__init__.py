"""How an engine is started and asked, and the interpreters it can run in."""
