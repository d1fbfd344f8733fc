"""Equivalence classes and what privacy models need to know about them."""
