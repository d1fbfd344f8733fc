"""``python -m sfumato`` is the same as the command ``sfumato``."""

from sfumato.cli import main

if __name__ == "__main__":
    main()
