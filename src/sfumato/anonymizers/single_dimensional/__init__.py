"""Single-dimensional recoding: every attribute is cut once for the whole table."""
