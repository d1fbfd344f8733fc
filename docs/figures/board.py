"""Draws our releases beside published methods on the public benchmark: marginals kept beside unique records matched.

``python docs/figures/board.py`` reads ``board.csv`` and ``board_all.csv``, which ``python -m benchmarks.board`` measures,
writes ``board.svg``, and prints both tables of the page.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sfumato.drawing import COLOURS, Drawing, canvas

HERE = Path(__file__).parent
UNIQUE = 14_918
"""Records of the target that are unique on the ten features."""

PUBLISHED = (
    ("random changes (PRAM, sdcMicro)", 986, 10_160, 0.51),
    ("local suppression, k = 6 (sdcMicro)", 907, 7_073, 0.88),
    ("generative model, DP (Sarus), ε = 10", 947, 2_087, 0.45),
    ("graphical model, DP (MST, smartnoise), ε = 1", 958, None, None),
)
"""Kind, k-marginal score, unique records matched, slope: reports published with the archive, same ten features."""

LABELS = {
    "drawn inside classes, k = 6, default": (24, 985),
    "drawn inside classes, k = 6, Mondrian": (24, 970),
    "slices, l = 2": (24, 946),
    "drawn inside classes, k = 20, default": (24, 932),
    "generative model, DP (Sarus), ε = 10": (9, 916),
    "private sample, ε = 10": (7, 757),
    "private sample, ε = 1": (7, 737),
    "random changes (PRAM, sdcMicro)": (71, 976),
    "local suppression, k = 6 (sdcMicro)": (51, 914),
    "graphical model, DP (MST, smartnoise), ε = 1": (46, 963),
}
"""Where names stand, in the units of both axes, so that none lies on another."""


REGIONS = {"national": "the whole country, 27,253", "ma": "Massachusetts, 7,634", "tx": "Texas, 9,276"}


def of_all_features() -> str:
    """Return the table of all features as Markdown."""
    lines = ["| people | k | k-marginal | unique records matched | slope (before) | inconsistent |", "|---" * 6 + "|"]
    for row in pl.read_csv(HERE / "board_all.csv").to_dicts():
        region, _, k = row["release"].replace(", drawn inside classes, k = ", "/").partition("/")
        lines.append(
            f"| {REGIONS[region]} | {k} | {row['k_marginal']} | {row['matched']} ({row['matched_of_unique']:.2f} %) "
            f"| {row['slope']:.2f} ({row['slope_before']:.2f}) | {row['inconsistent']:.1f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    """Write the drawing, and print the tables."""
    own = [
        (row["release"].replace("epsilon", "ε ="), row["k_marginal"], row["matched"], row["slope"])
        for row in pl.read_csv(HERE / "board.csv").to_dicts()
    ]
    figure, axes = canvas("unique records that occur in the release (%)", "k-marginal score (1,000: the same)")
    lines = ["| release | k-marginal | unique records matched | slope (0.63 before) |", "|---|---|---|---|"]
    for ours, rows in ((True, own), (False, PUBLISHED)):
        for name, score, matched, slope in rows:
            share = None if matched is None else 100 * matched / UNIQUE
            lines.append(
                f"| {f'**{name}**' if ours else name} | {score} | {'–' if share is None else f'{share:.1f} %'} "
                f"| {'–' if slope is None else f'{abs(slope):.2f}'} |"
            )
            if share is None:
                axes.axhline(score, color=COLOURS[1], linestyle=":", linewidth=1)
            else:
                axes.plot(share, score, "o" if ours else "s", color=COLOURS[0 if ours else 1])
            at = (62 if share is None else share, score)
            arrow = {"arrowstyle": "-", "linewidth": 0.5, "relpos": (0, 0.5)} if share is not None else None
            axes.annotate(name, at, LABELS[name], fontsize="x-small", va="center", arrowprops=arrow)
    axes.set_xlim(-1, 100)
    Drawing(figure).save(HERE / "board.svg").chmod(0o644)
    print("\n".join(lines))
    print(f"\n{of_all_features()}")


if __name__ == "__main__":
    main()
