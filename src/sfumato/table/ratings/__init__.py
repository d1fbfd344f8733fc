"""Survey ratings: sparse, read from long form, wide form and Netflix's form."""
