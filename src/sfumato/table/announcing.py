"""What is said about a source while it is read: how long it takes, and what was decided about it.

It loads nothing, so that a program may ask early.
"""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[str], None]] = []
"""Called with each sentence; the log ``sfumato.table`` has them, too."""


def announce(sentence: str) -> None:
    """Tell everybody who listens."""
    import logging

    logging.getLogger("sfumato.table").info("%s", sentence)
    for listener in listeners:
        listener(sentence)
