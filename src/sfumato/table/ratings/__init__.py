"""Survey ratings: sparse, read from long, wide and Netflix's form."""
