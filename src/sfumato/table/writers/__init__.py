"""Formats of other programs, each in a file; what they wrote is read back and compared before it counts."""
