"""Linking people with classes."""
