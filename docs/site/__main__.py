"""Build the documentation site into build/site and check it: ``python docs/site``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from links import problems
from pages import ROOT, lay_out
from searching import put_pages_first

# The generator's own script for pages that are opened as files; ours is the same, kept here.
_SHIM = "https://unpkg.com/iframe-worker/shim"


def main() -> int:
    """Build and check; return an exit code."""
    build = ROOT / "build" / "docs"
    shutil.rmtree(build, ignore_errors=True)
    lay_out(build / "pages")
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build", "--clean"], cwd=build, check=True)
    _keep_inside(build / "site")
    put_pages_first(build / "site")
    found = problems(build / "site")
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


def _keep_inside(site: Path) -> None:
    """Load the script for searching from the site itself."""
    for path in site.rglob("*.html"):
        ours = "/".join([".."] * (len(path.relative_to(site).parts) - 1) + ["iframe-worker.js"])
        path.write_text(path.read_text(encoding="utf-8").replace(_SHIM, ours), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
