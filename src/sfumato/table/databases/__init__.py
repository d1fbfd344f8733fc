"""Databases: one file for each, which alone knows its driver, its types and its errors.

A driver is loaded when a table is read or written. No message of a driver is repeated: it may quote a value, or what
somebody wrote into a URL.
"""
