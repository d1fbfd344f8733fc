"""What the performance figures come from: ``python -m benchmarks`` (or ``make bench``)."""

import os

# What is measured is compiled code; how soon a program starts without it is a job of its own.
os.environ.setdefault("SFUMATO_KERNELS", "compiled")
