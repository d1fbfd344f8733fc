"""What the performance figures come from: ``python -m benchmarks`` (or ``make bench``)."""
