"""Series of releases."""
