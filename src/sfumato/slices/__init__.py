"""Slicing: correlation of attributes, columns of attributes, buckets of records, and what a sliced table discloses."""
