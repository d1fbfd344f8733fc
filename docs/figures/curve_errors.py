"""Measures how often verdicts on curves of beliefs err; ``python docs/figures/curve_errors.py`` prints it.

Drawn are attackers who are as good as guessing (*false alarms*), or as good as on others though surer of some than of
others, and attackers whose surest tenth is right more often than guessing, or than others show, by what a verdict of
"no better" must exclude (*missed*). Beside false alarms stands what six looks would give if each were taken for the
only one, at 95 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.verdicts import RELEVANT, BeliefCurve, Beliefs, curve_verdict, draw_curve, judging_curve

DRAWS = 1000
SIZES = (50, 200, 1000, 5000)
GUESSED = (0.03, 0.1, 0.25, 0.5)
TIED = 10
Rights = NDArray[np.float64]


def people(rights: Rights, generator: np.random.Generator, kinds: int) -> Beliefs:
    """Draw people, the surest first, with so many different beliefs; `rights` is how often each guess is right."""
    belief = np.ceil(np.linspace(kinds, 0, len(rights), endpoint=False)) / kinds
    return Beliefs(belief, (generator.random(len(rights)) < rights).astype(np.float64))


def curves(rights: Rights, of_others: Rights | None, guessed: float, kinds: int) -> Iterator[BeliefCurve]:
    """Draw curves; `of_others` is how often guesses are right of people who are not in the data."""
    generator = np.random.default_rng([len(rights), kinds, int(1000 * guessed)])
    for _ in range(DRAWS):
        outside = None if of_others is None else people(of_others, generator, kinds)
        inside = people(rights, generator, kinds)
        yield draw_curve(inside, outside, None, guessing=(guessed, guessed), bound=0.5)


def verdicts(drawn: Iterator[BeliefCurve]) -> tuple[Counter[str], float]:
    """Count the verdicts, and how often some look alone would be called a success."""
    found: Counter[str] = Counter()
    alone = 0
    for curve in drawn:
        found[curve_verdict(curve)] += 1
        looks = [judging_curve(look.inside, look.control, None) for look in curve.looks if look.inside.people]
        alone += any(curve_verdict(look) == "succeeds" for look in looks)
    return found, alone / DRAWS


def level(people_: int, guessed: float) -> Rights:
    """Guess all alike."""
    return np.full(people_, guessed)


def rising(people_: int, guessed: float) -> Rights:
    """Let the surest be right twice as often as guessing, and the last never."""
    return np.minimum(1.0, np.linspace(2 * guessed, 0, people_))


def better(people_: int, guessed: float) -> Rights:
    """Let the surest tenth be right more often by what must be excluded among them."""
    rights = level(people_, guessed)
    rights[: people_ // 10] += RELEVANT / math.sqrt(0.1)
    return np.minimum(rights, 1.0)


Drawn = Callable[[int, float], Rights]
CASES: dict[str, tuple[Drawn, Drawn | None, float]] = {
    "guesses, no others": (level, None, 0),
    "guesses, as many others": (level, level, 1),
    "guesses, a quarter as many others": (level, level, 0.25),
    "as on others": (rising, rising, 1),
    "as on a quarter as many others": (rising, rising, 0.25),
    "better, no others": (better, None, 0),
    "better, as many others": (better, level, 1),
    "better, a quarter as many others": (better, level, 0.25),
}


def main() -> None:
    """Print for each case and number of people the worst over shares of guessing and over numbers of beliefs."""
    print("| case | people | false alarm or missed % | undecided % | each look by itself % |")
    print("|---|---|---|---|---|")
    for name, (inside, outside, part) in CASES.items():
        for size in SIZES:
            print(f"| {name} | {size:,} | {line(inside, outside, part, size)} |", flush=True)


def line(inside: Drawn, outside: Drawn | None, part: float, size: int) -> str:
    """Write the worst rate of errors, the highest share of undecided, and the worst rate of single looks."""
    wrong = "no better" if inside is better else "succeeds"
    rates = []
    for guessed in GUESSED:
        for kinds in (TIED, size):
            others = None if outside is None else outside(max(1, int(part * size)), guessed)
            found, alone = verdicts(curves(inside(size, guessed), others, guessed, kinds))
            rates.append((found[wrong] / DRAWS, found["undecided"] / DRAWS, alone))
    cells = [max(column) for column in zip(*rates, strict=True)]
    shown = cells[:2] if inside is better else cells
    return " | ".join([*(f"{100 * cell:.1f}" for cell in shown), *(["–"] if inside is better else [])])


if __name__ == "__main__":
    main()
