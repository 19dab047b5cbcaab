"""The output for people and programs: terminal, pages, JSON."""
