"""Sets of items, such as baskets or diagnoses: k^m-anonymity."""
