"""A random sample of generalized records under differential privacy."""
