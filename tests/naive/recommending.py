"""Two simple recommenders, rating by rating. A rating is (user, issue, value)."""

from __future__ import annotations

from math import sqrt

Rating = tuple[int, int, float]
SHRINK, NEIGHBOURS = 10, 20


def deviations(known: list[Rating]) -> tuple[float, dict[int, float], dict[int, float]]:
    mean = sum(value for _, _, value in known) / len(known)
    of_issues = {}
    for issue in {issue for _, issue, _ in known}:
        off = [value - mean for _, other, value in known if other == issue]
        of_issues[issue] = sum(off) / (len(off) + SHRINK)
    of_users = {}
    for user in {user for user, _, _ in known}:
        off = [value - mean - of_issues[issue] for other, issue, value in known if other == user]
        of_users[user] = sum(off) / (len(off) + SHRINK)
    return mean, of_users, of_issues


def predicted(known: list[Rating], user: int, issue: int) -> tuple[float, float]:
    """From deviations, and from neighbours."""
    mean, of_users, of_issues = deviations(known)
    left = {(u, i): value - mean - of_users[u] - of_issues[i] for u, i, value in known}
    baseline = mean + of_users.get(user, 0) + of_issues.get(issue, 0)

    def similarity(other: int) -> float:
        both = [(left[u, issue], left[u, other]) for u, i, _ in known if i == issue and (u, other) in left]
        product = sum(a * b for a, b in both)
        if product <= 0:
            return 0
        return (
            product / sqrt(sum(a * a for a, _ in both) * sum(b * b for _, b in both)) * len(both) / (len(both) + SHRINK)
        )

    similar = [(similarity(i), left[u, i]) for u, i, _ in known if u == user and i != issue]
    best = sorted(similar, key=lambda pair: -pair[0])[:NEIGHBOURS]
    weight = sum(s for s, _ in best)
    return baseline, baseline + (sum(s * off for s, off in best) / weight if weight else 0)
