"""What a table's columns mean, and what a steward should hear or answer before it is published."""
