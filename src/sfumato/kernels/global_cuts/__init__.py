"""Cuts and recodings of a whole attribute."""
