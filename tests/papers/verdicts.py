"""The verdicts of all papers, reproduced in full: held against a file, so that none changes unnoticed.

``python -m papers.verdicts`` compares, with ``--write`` it rewrites the file. Verdicts on times are left out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import sfumato as sf
from sfumato.papers.reproduce import PAPERS

FILE = Path(__file__).with_name("verdicts.json")
OF_TIME = ("takes less time", "the time of both")

Verdicts = dict[str, dict[str, str]]


def of_paper(paper: str) -> dict[str, str]:
    """Reproduce one paper; return its verdict by claim."""
    claims = sf.reproduce(paper, threads=1).claims
    return {
        claim.text: claim.verdict.value if claim.there is None else f"{claim.verdict.value}: {claim.there.value}"
        for claim in claims
        if not any(words in claim.text.lower() for words in OF_TIME)
    }


def on_file() -> Verdicts:
    """Return what the file says."""
    known: Verdicts = json.loads(FILE.read_text(encoding="utf-8"))
    return known


def main() -> int:
    """Compare or write; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m papers.verdicts", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite verdicts.json")
    write = parser.parse_args().write
    found = {paper: of_paper(paper) for paper in PAPERS}
    if write:
        FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    changed = [
        f"{paper}: {text}: {on_file().get(paper, {}).get(text)} → {verdict}"
        for paper, verdicts in found.items()
        for text, verdict in verdicts.items()
        if on_file().get(paper, {}).get(text) != verdict
    ]
    print("\n".join(changed) or "all verdicts are as on file")
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
