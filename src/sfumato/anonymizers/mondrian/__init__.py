"""Mondrian."""
