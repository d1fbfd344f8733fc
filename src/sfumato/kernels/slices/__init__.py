"""Slices and buckets."""
