"""The job by its name; what other processes import of it cannot stand here."""

import sys

from bounds.job import main

if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(given[0], given[1] if len(given) > 1 else 0, given[2] if len(given) > 2 else 1))
