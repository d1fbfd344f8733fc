"""Slicing: columns of attributes, buckets of records, values permuted inside each bucket."""
