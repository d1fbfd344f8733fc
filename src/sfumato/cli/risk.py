"""``sfumato risk``: who can be found in a table or a release, and by which columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sfumato.cli.options import OUTPUT, AsJson, Overwrite, Panel, PolicyFile, RoleOptions, Settings, argument
from sfumato.cli.outcome import complain
from sfumato.cli.progress import progress_bar, say_json
from sfumato.cli.released import original_people
from sfumato.errors import PolicyError, SfumatoError, raise_all

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.policy.policy import Policy
    from sfumato.table.table import Table

_ARGUMENT = re.compile(
    r"^(population|sampling_fraction|weights|household|threshold|special_uniques|combinations|wildcards|"
    r"log_linear_estimate|log_linear|threads)\b"
)
MEASURES, KNOWN = Panel("What is measured"), Panel("What is known besides the table")


@dataclass(frozen=True)
class Known:
    """What is known besides the table."""

    population: Annotated[str | None, KNOWN("Everybody who might be in the table, with the same columns.", "FILE")] = (
        None
    )
    sampling_fraction: Annotated[float | None, KNOWN("Records per person of the population, e.g. 0.05.")] = None
    weights: Annotated[str | None, KNOWN("Column of sampling weights.", "NAME")] = None
    household: Annotated[str | None, KNOWN("Column that says who lives together.", "NAME")] = None


@dataclass(frozen=True)
class Measured:
    """What is measured."""

    threshold: Annotated[
        list[str] | None,
        MEASURES(
            "Risk that must not be exceeded: ema, health-canada, cms, five or a number; repeatable.", "NAME|NUMBER"
        ),
    ] = None
    special_uniques: Annotated[
        int | None, MEASURES("Most columns of a minimal sample unique (SUDA2); 0: none.", "SIZE")
    ] = None
    combinations: Annotated[int | None, MEASURES("Most columns whose combinations are compared; 0: none.", "SIZE")] = (
        None
    )
    wildcards: Annotated[bool, MEASURES("Count '*' as any value, as sdcMicro does.", None, "--wildcards")] = False
    log_linear: Annotated[
        int | None, MEASURES("Fit a log-linear model with terms of SIZE columns: 1 main effects, 2 all pairs.", "SIZE")
    ] = None
    log_linear_terms: Annotated[
        list[str] | None,
        MEASURES(
            "Fit a term of these columns, and main effects of all others; repeatable.", "NAMES", "--log-linear-term"
        ),
    ] = None
    log_linear_estimate: Annotated[
        Literal["standard", "pseudo-likelihood"],
        MEASURES("Of a log-linear model: standard, or pseudo-likelihood by --weights.", "HOW"),
    ] = "standard"
    threads: Annotated[int | None, MEASURES("Threads; default all cores.")] = None


def risk(
    table: Annotated[str, argument("TABLE", "CSV or Parquet file, the URL of a database, or the folder of a release.")],
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    known: Known = Known(),
    measured: Measured = Measured(),
    settings: Settings = None,
    records: Annotated[
        Path | None, OUTPUT("Write every record's risks and scores as CSV, by row number.", "FILE")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Measure how easily people are found in a table or a release. It is for the data steward: it names rows.

    It reads only the quasi-identifying columns; a release names its own. The population of a release holds original
    values; --policy names the policy that made the release if its own withholds hierarchies. Lists of columns are
    separated by commas.
    """
    from sfumato.cli.released import is_release
    from sfumato.cli.settings import names_in
    from sfumato.cli.summary import risk_headline, say_report
    from sfumato.cli.words import Words, all_names
    from sfumato.evaluation.risk.adversaries import DEFAULT
    from sfumato.evaluation.risk.measure import Sample
    from sfumato.evaluation.risk.measure import risk as measure
    from sfumato.table.writing import write_data

    problems = _target_problems(records, overwrite=overwrite)
    if measured.log_linear is not None and measured.log_linear_terms:
        problems.append(
            "--log-linear: names the size of all terms, and --log-linear-term single ones; give one of the two"
        )
    raise_all(PolicyError, problems)
    words = Words(policy=policy, **{**roles.words, "others": roles.others or "drop"}, settings=settings or ())
    beside = [name for name in (known.weights, known.household) if name is not None]
    with _said_as_options(), progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        whole, everybody = _read(table, known.population, words, beside)
        report = measure(
            whole,
            quasi_identifying=all_names(roles.quasi) or None if is_release(table) else None,
            population=everybody,
            sample=Sample(
                known.sampling_fraction,
                known.weights,
                known.household,
                measured.log_linear_estimate,
                [names_in(names) for names in measured.log_linear_terms or ()] or measured.log_linear,
            ),
            thresholds=measured.threshold or DEFAULT,
            special_uniques=measured.special_uniques,
            combinations=measured.combinations,
            wildcards=measured.wildcards,
            threads=measured.threads,
            progress=progress,
        )
    if as_json:
        say_json(report.to_dict())
    else:
        say_report(risk_headline(report), str(report))
    if records is not None:
        write_data(report.to_frame(), records, "csv")
        complain([f"{records}: one line for each record, for you alone; row numbers do not count the header"])


@contextmanager
def _said_as_options() -> Iterator[None]:
    """Name options in problems that begin with the name of a Python argument."""
    try:
        yield
    except SfumatoError as error:
        raise type(error)(*(_ARGUMENT.sub(_option, problem) for problem in error.problems)) from None


def _option(argument: re.Match[str]) -> str:
    return f"--{argument[1].replace('_', '-')}"


def _target_problems(records: Path | None, *, overwrite: bool) -> list[str]:
    if records is None or overwrite or not records.exists():
        return []
    return [f"--records: {records} already exists; name another file or add --overwrite"]


def _read(table: str, population: str | None, words: Words, beside: Sequence[str]) -> tuple[Any, Any]:
    """Return what to measure and the population: a table that is read as the options say, or a release."""
    from sfumato.cli.released import is_release

    if is_release(table):
        raise_all(PolicyError, _useless(words, population))
        return table, None if population is None else original_people(str(table), population, words.policy, words)
    policy = _only_quasi(words, beside)
    errors: list[SfumatoError] = []
    read = [_table(each, path, errors) for each, path in ((policy, table), (policy.beside(population), population))]
    if errors:
        raise type(errors[0])(*(problem for error in errors for problem in error.problems))
    return read[0], read[1]


def _table(policy: Policy, path: str | None, errors: list[SfumatoError]) -> Table | None:
    from sfumato.table.reading import read_table

    try:
        return None if path is None else read_table(path, policy)
    except SfumatoError as error:
        errors.append(error)
        return None


def _only_quasi(words: Words, beside: Sequence[str]) -> Policy:
    """Make the policy that reads the quasi-identifying columns, and others that are needed."""
    from sfumato.cli.words import columns_alone
    from sfumato.policy.parts import Columns

    policy = columns_alone(words)
    quasi = policy.columns.quasi_identifying
    beside_quasi = tuple(name for name in dict.fromkeys(beside) if name not in quasi)
    roles = policy.columns
    removed = tuple(name for name in roles.identifying if name not in beside_quasi)
    columns = Columns.model_construct(
        identifying=removed,
        quasi_identifying=quasi,
        insensitive=beside_quasi,
        others="drop",
        person=roles.person,
        key_form=roles.key_form,
    )
    return policy.model_copy(update={"columns": columns})


def _useless(words: Words, population: str | None) -> list[str]:
    """Name the options that say what a release says itself."""
    from sfumato.cli.settings import settings_of

    settings = settings_of(words.settings, [])
    options: dict[str, object] = {
        **{f"--{role}": words.roles.get(role) for role in ("identifying", "sensitive")},
        "--set columns.insensitive": words.roles.get("insensitive"),
        "--categorical": words.categorical,
        **{one.typed: True for one in settings if one.path[-1] == "kind"},
    }
    if population is None:
        options |= {
            "--policy": words.policy,
            "--hierarchies": words.hierarchies,
            **{one.typed: True for one in settings},
        }
    return [f"{option}: the release already says it; leave it out" for option, value in options.items() if value]
