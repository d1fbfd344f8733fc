"""``sfumato correlation``: how strongly every pair of columns hangs together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli.options import OUTPUT, AsJson, Original, Overwrite, PolicyFile, RoleOptions, Settings, option
from sfumato.cli.progress import say_result
from sfumato.errors import PolicyError, raise_all

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.table.table import Table


def correlation(
    table: Original,
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    bins: Annotated[int, option("Bins of numbers and dates with more distinct values.")] = 10,
    discretization: Annotated[str, option("Bins of equal-frequency or equal-width.", "HOW")] = "equal-frequency",
    settings: Settings = None,
    svg: Annotated[Path | None, OUTPUT("Draw it into a file, too.", "FILE")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Print the contingency coefficient φ² of every pair of quasi-identifying and sensitive columns.

    0: the columns are independent; 1: one decides the other. It is what slicing puts columns together by. It tells no
    value, but it is about the original table: for the data steward.
    """
    from sfumato.anonymizers.slicing.correlation import correlation as measure
    from sfumato.anonymizers.slicing.correlation import discretization_problems
    from sfumato.cli.words import Words
    from sfumato.whole_files import write_whole

    problems = discretization_problems("correlation", bins, discretization)
    if svg is not None and svg.exists() and not overwrite:
        problems.append(f"--svg: {svg} already exists; name another file or add --overwrite")
    raise_all(PolicyError, problems)
    words: dict[str, Any] = {**roles.words, "others": roles.others or "drop"}
    found = measure(
        _read(table, Words(policy=policy, **words, settings=settings or ())),
        bins=bins,
        discretization=discretization,  # type: ignore[arg-type]
    )
    say_result(found.to_dict(), str(found), as_json=as_json)
    if svg is not None:
        write_whole(svg, found.to_svg())


def _read(path: str, words: Words) -> Table:
    from sfumato.cli.words import columns_alone
    from sfumato.table.reading import read_table

    return read_table(path, columns_alone(words))
