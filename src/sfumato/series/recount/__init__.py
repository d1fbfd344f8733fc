"""Recounts of what several releases tell together, from the releases alone."""
