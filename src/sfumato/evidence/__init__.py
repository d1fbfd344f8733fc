"""The page about a release that a steward signs."""
