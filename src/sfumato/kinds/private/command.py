"""What the commands for both kinds under differential privacy share: a budget, declared domains, and the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from sfumato.cli.options import COLUMNS, METHOD, PRIVACY

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.kinds.private.policy import DeclaredPolicy

Meant = TypeVar("Meant", bound="DeclaredPolicy")
OPTIONS: dict[tuple[str | int, ...], str] = {
    ("model", "epsilon"): "--epsilon",
    ("model", "delta"): "--delta",
    ("output", "format"): "--format",
}
"""What messages call a key that an option set."""
ADVICE = {
    "--epsilon: is missing": "--epsilon: give the budget, e.g. --epsilon 1",
    "--quasi: is missing": "--quasi: name the columns that an attacker may know, e.g. --quasi age,sex,zip",
    "columns: is missing": "--quasi: name the columns that an attacker may know, e.g. --quasi age,sex,zip",
}


@dataclass(frozen=True)
class Declared:
    """What is promised, over which domains, and the ledger of it."""

    epsilon: Annotated[float | None, PRIVACY("Budget ε, above 0, e.g. 1.")] = None
    delta: Annotated[float | None, PRIVACY("δ, from 0 to below 1; default 0. Above 0: Gaussian noise.")] = None
    domain: Annotated[
        list[str] | None, COLUMNS("All values that a column may have, e.g. sex=female,male; repeatable.", "NAME=VALUES")
    ] = None
    bins: Annotated[
        list[str] | None,
        COLUMNS(
            "Bins of numbers: LOW:HIGH:COUNT, or borders, e.g. age=0:120:12 or age=0,18,65,120; repeatable.",
            "NAME=BINS",
        ),
    ] = None
    ledger: Annotated[Path | None, PRIVACY("Ledger that adds up what releases of the same people spend.", "FILE")] = (
        None
    )
    seed: Annotated[int | None, METHOD("Refused: what can be drawn again hides nobody.")] = None


def declared_policy(
    kind: type[Meant],
    key: str,
    part: Mapping[str, Any],
    declared: Declared,
    words: Words,
    format: str | None,
    problems: Sequence[str],
) -> Meant:
    """Make the policy that the options mean; `part`: what they say of the part `key`, by its keys."""
    from sfumato.cli.kind_words import KindWords, kind_policy_of
    from sfumato.cli.settings import names_in
    from sfumato.cli.words import say_columns, say_written
    from sfumato.kinds.private.make import NO_SEED
    from sfumato.policy.entries import spelled_out
    from sfumato.policy.file import read_policy

    found = [*([] if declared.seed is None else [f"--{NO_SEED}"]), *problems]
    plain = dict(spelled_out(read_policy(words.policy))) if words.policy else {}
    bins, domains = _bins(declared.bins, found)
    domains |= {name: {"domain": names_in(values)} for name, values in _pairs(declared.domain, "--domain", found)}
    names: dict[tuple[str | int, ...], str] = {}
    say_columns(plain, words, names, found)
    say_written(plain, domains, found)
    parts: dict[str, dict[str, Any]] = {
        "model": {"epsilon": declared.epsilon, "delta": declared.delta},
        key: {
            **part,
            "bins": {**_given(plain, key, "bins"), **bins} or None,
            "levels": {**_given(plain, key, "levels"), **_levels(part["levels"], found)} or None,
        },
        "output": {"format": format},
    }
    kind_words = KindWords(words.policy, {}, parts, found, plain, words.settings)
    named: dict[tuple[str | int, ...], str] = {(key, name): f"--{name}" for name in part}
    named |= {(key, "marginals"): "--marginal", (key, "levels"): "--level"}
    return kind_policy_of(kind_words, kind.from_mapping, {**OPTIONS, **named, **names}, ADVICE)


def _given(policy: dict[str, Any], part: str, key: str) -> dict[str, Any]:
    settings = policy.get(part)
    given = settings.get(key, {}) if isinstance(settings, dict) else {}
    return given if isinstance(given, dict) else {}


def _pairs(texts: Sequence[str] | None, option: str, problems: list[str]) -> list[tuple[str, str]]:
    found = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if equals and name.strip() and value.strip():
            found.append((name.strip(), value.strip()))
        else:
            problems.append(f"{option}: write it as NAME={'VALUES' if option == '--domain' else option[2:].upper()}")
    return found


def _bins(texts: Sequence[str] | None, problems: list[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return bins by column, and the ranges that they divide."""
    bins: dict[str, Any] = {}
    domains: dict[str, dict[str, Any]] = {}
    for name, text in _pairs(texts, "--bins", problems):
        try:
            if ":" in text:
                low, high, count = text.split(":")
                domains[name], bins[name] = {"domain": [float(low), float(high)]}, int(count)
            else:
                borders = [float(border) for border in text.split(",")]
                bins[name] = int(text) if len(borders) == 1 else borders
        except ValueError:
            problems.append(f"--bins: {name!r}: write LOW:HIGH:COUNT, or borders, e.g. 0:100:10 or 0,18,65,120")
    return bins, domains


def _levels(texts: Sequence[str] | None, problems: list[str]) -> dict[str, int]:
    levels = {}
    for name, text in _pairs(texts, "--level", problems):
        if text.isdecimal():
            levels[name] = int(text)
        else:
            problems.append(f"--level: {name!r}: give a whole number, 0 for the values themselves")
    return levels
