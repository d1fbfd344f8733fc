"""Tables that are larger than the memory: read in batches, their values counted first, their codes kept on disk."""
