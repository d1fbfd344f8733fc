"""Survey ratings: sparse, and as good as a name; (k, ε, l)-anonymity."""
