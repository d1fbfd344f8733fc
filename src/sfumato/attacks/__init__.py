"""Attacks, each played against a release."""
