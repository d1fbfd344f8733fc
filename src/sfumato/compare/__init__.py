"""Comparing anonymizers over settings."""
