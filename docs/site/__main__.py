"""Build the documentation site into build/site and check it: ``python docs/site``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from links import problems
from pages import ROOT, lay_out


def main() -> int:
    """Build and check; return an exit code."""
    build = ROOT / "build" / "docs"
    shutil.rmtree(build, ignore_errors=True)
    lay_out(build / "pages")
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build", "--clean"], cwd=build, check=True)
    found = problems(build / "site")
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
