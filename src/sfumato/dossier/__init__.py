"""The page about a release that is signed."""
