"""Bucketization: groups of records with diverse sensitive values, and what two tables disclose."""
