"""The report that a steward signs: everything about one release on one page, for people and as plain values."""
