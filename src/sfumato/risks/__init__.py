"""Re-identification risk: who can be found in a table, and by which columns."""
