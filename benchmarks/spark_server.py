"""A command with a Spark Connect server of its own in the same process, so that what both take is measured together.

python -m benchmarks.spark_server anonymize table.parquet --engine spark ...
"""

from __future__ import annotations

import os


def main() -> None:
    """Start Sail, run the command, stop Sail."""
    from pysail.spark import SparkConnectServer

    from sfumato.cli import main as command

    os.environ.setdefault("RUST_LOG", "off")
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    os.environ["SPARK_REMOTE"] = f"sc://127.0.0.1:{server.listening_address[1]}"
    try:
        command()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
