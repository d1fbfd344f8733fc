"""Sfumato: privacy-preserving data publishing."""
