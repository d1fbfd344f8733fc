"""The scoring attack on ratings."""
