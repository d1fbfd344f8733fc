"""Recounting sliced tables."""
