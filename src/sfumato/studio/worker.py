"""The spare process: it has loaded the library, waits for the words of one command, and is then that command.

So what the studio does is what the command line does, and a run can be ended at any moment by ending the process.
"""

from __future__ import annotations

import json
import os
import sys
import threading


def main() -> None:
    """Read the words of a command from a line of stdin, and run it."""
    import sfumato.cli.anonymize
    import sfumato.cli.app
    import sfumato.release.anonymize
    import sfumato.table.reading

    line = sys.stdin.readline()
    if not line:
        return
    threading.Thread(target=_end_with_the_studio, daemon=True).start()
    words: list[str] = json.loads(line)
    sys.argv = ["sfumato", *words]
    sfumato.cli.main()


def _end_with_the_studio() -> None:
    """End when whoever holds the other end of stdin does, however that ended."""
    while sys.stdin.readline():
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
