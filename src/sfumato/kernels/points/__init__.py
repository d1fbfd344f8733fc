"""Points in space: microaggregation and k-means."""
