"""Makers of k^m-anonymous sets."""
