"""Which models a table from anywhere satisfies, and how far."""
