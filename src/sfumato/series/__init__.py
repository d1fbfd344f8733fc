"""Releases of one table over time: what several of them tell together, and how the next one is made."""
