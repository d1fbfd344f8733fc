"""Risk of re-identification."""
