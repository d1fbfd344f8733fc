"""``python -m benchmarks``: run the jobs, print their figures and write them down."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import (
    answers_job,
    attack_job,
    bucket_job,
    cells_job,
    checking_job,
    clustering_job,
    comparison_job,
    databases_job,
    disk_job,
    engines_job,
    lattice_job,
    mondrian_job,
    overlapping_job,
    parts_job,
    rating_anonymizing_job,
    rating_attack_job,
    rating_job,
    release_job,
    report_job,
    reproduction_job,
    risk_job,
    series_job,
    sets_job,
    slicing_job,
    spark_job,
    start_job,
    studio_job,
    utility_job,
    workbook_job,
)
from benchmarks.rendering import markdown, page
from benchmarks.results import Figure, SkippedJob, machine
from benchmarks.settings import Settings

Job = Callable[[Settings], Iterator[Figure]]

JOBS: dict[str, Job] = {
    start_job.NAME: start_job.run,
    "mondrian": mondrian_job.run,
    databases_job.NAME: databases_job.run,
    spark_job.NAME: spark_job.run,
    workbook_job.NAME: workbook_job.run,
    studio_job.NAME: studio_job.run,
    "census": release_job.run_census,
    "adult-drawn": release_job.run_adult,
    disk_job.NAME: disk_job.run,
    engines_job.NAME: engines_job.run,
    engines_job.LARGEST: engines_job.run_largest,
    engines_job.DEALT: engines_job.run_dealt,
    parts_job.NAME: parts_job.run,
    "checking": checking_job.run,
    "lattice": lattice_job.run,
    "cells": cells_job.run,
    "clustering": clustering_job.run,
    "risk": risk_job.run,
    attack_job.NAME: attack_job.run,
    "utility": utility_job.run,
    reproduction_job.NAME: reproduction_job.run,
    "bucketization": bucket_job.run,
    "slicing": slicing_job.run,
    overlapping_job.NAME: overlapping_job.run,
    answers_job.NAME: answers_job.run,
    report_job.NAME: report_job.run,
    comparison_job.NAME: comparison_job.run,
    "ratings": rating_job.run_public,
    "ratings-shapes": rating_job.run_shapes,
    "ratings-anonymous": rating_anonymizing_job.run,
    rating_attack_job.NAME: rating_attack_job.run,
    sets_job.NAME: sets_job.run,
    "sets-films": sets_job.run_films,
    series_job.NAME: series_job.run,
}
ALWAYS_WHOLE = {
    start_job.NAME,
    engines_job.NAME,
    engines_job.LARGEST,
    engines_job.DEALT,
    parts_job.NAME,
    attack_job.NAME,
    mondrian_job.NAME,
    lattice_job.NAME,
    clustering_job.NAME,
    cells_job.NAME,
    utility_job.NAME,
    reproduction_job.NAME,
    slicing_job.NAME,
    report_job.NAME,
    comparison_job.NAME,
    rating_job.NAME,
    "ratings-shapes",
    rating_anonymizing_job.NAME,
    rating_attack_job.NAME,
}
"""Jobs whose size is given by their data."""

ON_REQUEST = {engines_job.LARGEST}
"""Jobs that take hours, and run where they are asked for by name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the jobs that were asked for; 0 whether bars are met or not."""
    words = _parser().parse_args(arguments)
    settings = Settings(words.rows, words.checked_rows, words.repeats, words.folder)
    facts = machine()
    figures, skipped = run_jobs(words.jobs.split(","), settings)
    settings.folder.mkdir(parents=True, exist_ok=True)
    results = {"machine": facts, "figures": [figure.to_dict() for figure in figures], "skipped": skipped}
    (settings.folder / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if words.markdown:
        words.markdown.write_text(markdown(figures, skipped, facts), encoding="utf-8")
    print(page(figures, skipped, facts))
    return 0


def run_jobs(names: Sequence[str], settings: Settings) -> tuple[list[Figure], dict[str, str]]:
    """Return all figures, and why jobs were left out."""
    figures: list[Figure] = []
    skipped: dict[str, str] = {}
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            found = list(JOBS[name](settings))
        except SkippedJob as reason:
            skipped[name] = str(reason)
        else:
            judged = settings.is_whole or name in ALWAYS_WHOLE
            figures.extend(found if judged else [figure.without_bar() for figure in found])
    return figures, skipped


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    usual = [name for name in JOBS if name not in ON_REQUEST]
    parser.add_argument("--jobs", type=_known_jobs, default=",".join(usual), help=f"some of {', '.join(JOBS)}")
    parser.add_argument("--rows", type=int, default=Settings.rows, help="records of the large CSV files")
    parser.add_argument("--checked-rows", type=int, default=Settings.checked_rows, help="records that are checked")
    parser.add_argument("--repeats", type=int, default=Settings.repeats, help="runs of each large job")
    parser.add_argument("--folder", type=Path, default=Settings.folder, help="for generated files and results")
    parser.add_argument("--markdown", type=Path, help="write the figures to this file too")
    return parser


def _known_jobs(words: str) -> str:
    unknown = [name for name in words.split(",") if name not in JOBS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known are {', '.join(JOBS)}")
    return words


if __name__ == "__main__":
    # What is measured is compiled code; how soon a program starts without it is a job of its own.
    os.environ.setdefault("SFUMATO_KERNELS", "compiled")
    sys.exit(main())
