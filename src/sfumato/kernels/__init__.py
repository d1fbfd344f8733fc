"""Compiled loops: arrays in, arrays out. No strings, tables, options or exceptions."""
