"""Hierarchies: trees over the values of one attribute, and the builders that describe them."""
