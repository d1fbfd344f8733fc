"""From a solution to published values."""
