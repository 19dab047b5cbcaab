"""What people and programs read: terminal, pages, JSON."""
