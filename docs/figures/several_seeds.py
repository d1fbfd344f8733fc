"""Measures with several seeds what decision records and pages say of attackers.

``python docs/figures/several_seeds.py --parts buckets`` prints medians and ranges over five seeds, a line as soon as it
is measured; without ``--parts`` all of them. Each seed draws records and whatever is random in a release and an attack.

=========  ============================================================================  ===========
part       what is measured                                                              records
=========  ============================================================================  ===========
buckets    record 10: deFinetti in buckets of Adult's occupations, and what is kept       30,000
others     record 10: the same of other sensitive attributes                              30,000
more       record 10: other attacks on buckets of occupations                             30,000
slices     record 10: deFinetti in slices of occupations                                  30,000
cuts       record 11: what minimality claims of Mondrian's classes of Adult               10,000
patients   record 11: the same of the documentation's patients                            800
halves     record 37: what minimality claims of slices of Adult                           5,000
large      record 37: the same of more records                                            30,000
blind      record 60: what minimality and deFinetti find in blind slices                 20,000
surest     record 23: of whom deFinetti is surest in slices and overlapping slices        30,000
ends       record 9: what ends of intervals tell, with as many people not in the data     15,000
regions    record 9: the same of regions                                                  15,000
tables     record 9: ends of intervals in four other tables, half of which is published   10,000
labels     declared labels: who is isolated, on Adult and six other tables               6,000
wishes     a k of one's own: what it loses                                                30,000
ratings    scoring: who is found among ratings, before and after                          all
answers    overlapping slices: counts by three kinds of release                           30,162
private    differential privacy: what attackers find in noisy counts                      300
noisy      differential privacy: how far noisy counts are off                             1,000
sampled    private samples: what attackers find                                           4,000
genetic    heuristic: what the genetic search loses                                       all
=========  ============================================================================  ===========

``--seeds`` and ``--records`` measure less. Adult and the others are looked for in the folder that ``SFUMATO_DATA``
names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

import cuts
import ends
import labels
import members
import others
from drawn import Figures, Line

PARTS: Mapping[str, tuple[Callable[[int], Iterator[Line]], int]] = {
    "buckets": (members.buckets, 30_000),
    "others": (members.others, 30_000),
    "more": (members.more, 30_000),
    "slices": (members.slices, 30_000),
    "cuts": (cuts.cuts, 10_000),
    "patients": (cuts.patients, 800),
    "halves": (cuts.halves, 5_000),
    "large": (cuts.large, 30_000),
    "blind": (cuts.blind, 20_000),
    "surest": (members.surest, 30_000),
    "ends": (ends.ends, 15_000),
    "regions": (ends.regions, 15_000),
    "tables": (ends.tables, 10_000),
    "labels": (labels.labels, 6_000),
    "wishes": (others.wishes, 30_000),
    "ratings": (others.ratings, 1_000),
    "answers": (others.answers, 30_162),
    "private": (others.private, 300),
    "noisy": (others.noisy, 1_000),
    "sampled": (others.sampled, 4_000),
    "genetic": (others.genetic, 40_000),
}


COUNTS = ("k", "claims", "records a bucket", "people three times likelier", "homogeneity", "background-knowledge")
"""Figures that are no shares."""


def told(name: str, figures: Sequence[float]) -> str:
    """Write a median and a range; shares in percent."""
    low, middle, high = min(figures), median(figures), max(figures)
    if name in COUNTS:
        return f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"
    return f"{100 * middle:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def line(rows: Sequence[Figures]) -> str:
    """Write all figures of a line; what only some seeds have says how many."""
    names = dict.fromkeys(name for row in rows for name in row)
    cells = []
    for name in names:
        found = [row[name] for row in rows if name in row]
        cells.append(f"{name} {told(name, found)}" + (f" of {len(found)} seeds" if len(found) < len(rows) else ""))
    return ", ".join(cells)


def main() -> None:
    """Print a line as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--records", type=int)
    parser.add_argument("--only", default="", help="words that a line's name must hold")
    asked = parser.parse_args()
    for part in asked.parts:
        lines, usual = PARTS[part]
        for name, measured in lines(asked.records or usual):
            if asked.only in name:
                print(f"{name}: {line([measured(seed) for seed in range(1, 1 + asked.seeds)])}", flush=True)


if __name__ == "__main__":
    main()
