"""``python -m benchmarks.rating_decision USERS ISSUES RATINGS FILE``: make ratings up, decide, note the cost."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import sfumato as sf
from benchmarks.measuring import run_here
from benchmarks.ratings_data import long_tailed

MODEL = sf.ratings.RatingAnonymity(20, 1, 2)
SENSITIVE = sf.ratings.SensitiveIssues(share=0.05, seed=1)


def main(users: int, issues: int, ratings: int, file: Path) -> None:
    """Decide on something small, so that nothing is compiled while the clock runs, and then on what was asked for."""
    sf.ratings.check_ratings(long_tailed(300, 20, 300 * 20).with_sensitive(SENSITIVE), MODEL)
    made = long_tailed(users, issues, ratings).with_sensitive(SENSITIVE)
    cost, answer = run_here(lambda: sf.ratings.check_ratings(made, MODEL))
    told = {"cost": dataclasses.asdict(cost), "ratings": len(made.issues), "satisfied": answer.satisfied}
    file.write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), Path(sys.argv[4]))
