"""Releases that are not one table of records, each kind whole in its folder."""
