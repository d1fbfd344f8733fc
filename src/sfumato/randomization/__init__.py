"""Randomization: swapping, noise, post-randomization, rounding, coding and sampling."""
