"""Options that several commands share, and bundles of them that stand for one parameter of a command."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from sfumato.cli import completion
from sfumato.cli.former import Former
from sfumato.cli.forms import Forms
from sfumato.cli.outcome import complain
from sfumato.errors import InputError, PolicyError, SfumatoError


class Panel(str):
    """A panel of a help page; called with what help says of an option, it makes the option."""

    def __call__(self, help: str, metavar: str | None = None, *flags: str, complete: Any = None) -> Any:
        """Describe an option: what it is for, what stands for its value, its flags if they are not its name."""
        panel = self or None
        return typer.Option(*flags, help=help, metavar=metavar, rich_help_panel=panel, autocompletion=complete)


def argument(metavar: str, help: str) -> Any:
    """Describe an argument."""
    return typer.Argument(metavar=metavar, show_default=False, help=help)


option = Panel()
"""An option that stands in no panel."""
READING, COLUMNS, PRIVACY, METHOD, OUTPUT = map(Panel, ("Reading the table", "Columns", "Privacy", "Method", "Output"))
KNOWN = Panel("What the attacker knows")

ANONYMIZERS = (
    "auto, mondrian, best, optimal, k-member, global-mondrian, value-generalization, cell-suppression, k-means, mdav, "
    "v-mdav, sbc, heuristic, datafly, incognito, samarati, caat, kaca, oka, utility-recoding"
)
"""Names for the help page; the anonymizers themselves are only loaded when one is needed."""

PUBLISHERS = (
    "bucketization, slicing, overlapping-slicing, marginals, swapping, rank-swapping, shuffling, noise, pram, "
    "rounding, top-bottom-coding, sampling"
)
"""Those whose releases are not generalized tables."""

Original = Annotated[
    str, argument("TABLE", "File, e.g. CSV, Parquet or Excel, - for standard input, or the URL of a database.")
]
ReleasePlace = Annotated[
    str, argument("RELEASE", "Folder of a release, or the URL of a database, with ?schema=NAME at its end.")
]
Weights = Annotated[str | None, option("Column of the table and the release with sampling weights.", "NAME")]
PolicyFile = Annotated[Path | None, option("Policy file (TOML); other options override it.", "FILE", "--policy")]

PATHS = {
    "source": "separator, encoding, quote, missing, header, columns, strip, sheet, range, codes, decimal, thousands, "
    "dates, table, query, header-line, footer-lines, label-lines, hidden",
    "column.NAME": "kind, hierarchy, domain, domain-withheld, weight, decimal, thousands, unit, dates, strays, "
    "missing, spellings",
    "columns": "identifying, quasi-identifying, sensitive, insensitive, others, person, wished-k, wished-l, publish, "
    "key-form, accept",
    "people": "rows, pseudonyms, all-records-k, known-values, fingerprint-k, keyless",
    "recoding": "numeric, forms, ends, suppressed, average, labels",
    "output": "format, cells, labels, domain",
    "subset": "column, value",
    "context": "recipient, purpose, public, other-data, readers, controls, attempt, recognition, breach, population, "
    "threshold, author, review, review-by, answers, unanswered, purpose-columns",
    "policy": "purpose, recipient, suppression-limit, refine, threads, models, wishes, population, withstand",
}
"""Paths of ``--set`` by group, for the help page; see docs/reference/settings.md."""

Settings = Annotated[
    list[str] | None,
    METHOD(
        "An option of the policy by its path, e.g. source.separator=';'; repeatable. Without a dot: of the "
        f"anonymizer, or a key of policy. {'. '.join(f'{group}.: {keys}' for group, keys in PATHS.items())}.",
        "PATH=VALUE",
        "--set",
    ),
]

Identifying = Annotated[
    list[str] | None, COLUMNS("Columns to remove, such as names.", "NAMES", complete=completion.columns)
]
Quasi = Annotated[list[str] | None, COLUMNS("Columns that an attacker may know.", "NAMES", complete=completion.columns)]
Sensitive = Annotated[
    list[str] | None, COLUMNS("Columns whose link to a person must stay hidden.", "NAMES", complete=completion.columns)
]
Publish = Annotated[
    list[str] | None,
    COLUMNS(
        "Columns that look as if they identified people, and are published all the same.",
        "NAMES",
        complete=completion.columns,
    ),
]
Accept = Annotated[
    list[str] | None,
    COLUMNS("Publish a column although the review found something in it; repeatable.", "FINDING:COLUMN=REASON"),
]
Person = Annotated[
    str | None,
    COLUMNS(
        "Column that says who a record is about, where people have several; or several columns. They are removed, "
        "but people are counted.",
        "NAMES",
        complete=completion.columns,
    ),
]
Others = Annotated[str | None, COLUMNS("What to do with all other columns.", "drop|keep|error")]
Categorical = Annotated[
    list[str] | None, COLUMNS("Columns of codes that only look like numbers.", "NAMES", complete=completion.columns)
]
Hierarchies = Annotated[
    Path | None, COLUMNS("Hierarchies: one CSV per column, named after it or ending in _COLUMN.", "FOLDER")
]

Population = Annotated[
    Path | None,
    PRIVACY("Everybody who might be in the table, with the same columns, for models that speak of them.", "FILE"),
]

AsJson = Annotated[bool, OUTPUT("Print JSON for machines.", None, "--json")]
Details = Annotated[bool, OUTPUT("Print the whole report, not its summary.", None, "--details")]
Quiet = Annotated[bool, OUTPUT("Print only problems.", None, "--quiet")]
SavePolicy = Annotated[Path | None, OUTPUT("Write the policy that these options mean.", "FILE")]
HowFormulas = Annotated[
    Literal["keep", "escape", "refuse"],
    OUTPUT(
        "Cells of CSV that a spreadsheet may run as formulas: keep, escape (a ' before them) or refuse.",
        "HOW",
        "--formulas",
    ),
]
Overwrite = Annotated[bool, OUTPUT("Replace what is there.", None, "--overwrite")]


BY_PATH: Any = field(default=None, metadata={"by path": True})
"""Part of a bundle that is no option of its own: ``--set`` gives it, or a former option."""


@dataclass(frozen=True)
class RoleOptions:
    """The roles of the columns."""

    identifying: Identifying = None
    quasi: Quasi = None
    sensitive: Sensitive = None
    insensitive: list[str] | None = BY_PATH
    publish: Publish = None
    others: Others = None
    person: Person = None
    categorical: Categorical = None
    hierarchies: Hierarchies = None

    @property
    def words(self) -> dict[str, Any]:
        """Return the options as :class:`sfumato.cli.words.Words` takes them."""
        from sfumato.cli.words import ROLES

        return {
            "roles": dict(zip(ROLES, (self.identifying, self.quasi, self.sensitive, self.insensitive), strict=True)),
            "publish": self.publish or (),
            "others": self.others,
            "person": self.person,
            "categorical": self.categorical or (),
            "hierarchies": self.hierarchies,
        }


_READ = ("policy", "hierarchies", "population", "holdout", "original", "control", "register")
"""Options that name what is read, and that no command looks at before it works; of the last three some say more."""

_NAMING = ("identifying", "quasi", "sensitive", "publish", "categorical")
"""Options that list columns."""

CHOICE = "form_of_command"
"""The parameter of the option that names a form of a command."""


def spread(
    command: Callable[..., None], former: Sequence[Former] = (), forms: Forms | None = None
) -> Callable[..., None]:
    """Return a command in which each bundle is replaced by its options, with former options, which help hides.

    Of a command with several `forms` help shows the option that names one; it is obeyed before a form reads its words.
    """
    hints = get_type_hints(command, include_extras=True)
    bundles: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        options.extend(_options(bundles[name]) if name in bundles else [parameter.replace(annotation=hints[name])])
    options.extend(map(_hidden, former))
    if forms is not None:
        options.append(_choice(forms))

    def run(**values: Any) -> None:
        values.pop(CHOICE, None)
        typed = [(one, values.pop(one.name)) for one in former]
        given = [(one, value) for one, value in typed if value is not None and value is not False and value != []]
        complain([one.warning for one, _ in given])
        for one, value in given:
            one.apply(values, value)
        with_places = _places_first(dict(values))
        for name, kind in bundles.items():
            values[name] = kind(**{part.name: values.pop(part.name, part.default) for part in fields(kind)})
        with with_places:
            command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


@contextmanager
def _places_first(values: Mapping[str, Any]) -> Iterator[None]:
    """Say first, of all mistakes, which files and releases a command was given that are not there."""
    places = {name: str(value) for name, value in values.items() if isinstance(value, str | Path)}
    table, release = places.get("table", ""), places.get("release", "")
    if os.path.isfile(os.path.join(table, "release.json")) and os.path.isfile(release):
        raise InputError(f"{table}: is a release; name the table first, then the release: {release} {table}")
    absent = {name: said for name, place in places.items() if (said := _absent(name, place))}
    seed = ["--seed: must be 0 or above"] if (values.get("seed") or 0) < 0 else []
    if absent.keys() & {"hierarchies", "holdout"}:
        raise InputError(*absent.values(), *seed)  # others are read late
    try:
        yield
    except SfumatoError as error:
        if isinstance(error, PolicyError) and not absent:
            error = PolicyError(*error.problems, *_columns_not_there(values))
        words = [(places[name], Path(places[name]).name, f"--{name}" if name in _READ[:4] else "") for name in absent]
        known = tuple(f"{word}:" for each in words for word in each if word)
        others = [problem for problem in error.problems if not problem.startswith(known) and problem not in seed]
        raise (InputError(*absent.values(), *others, *seed) if absent else error) from None


def _columns_not_there(values: Mapping[str, Any]) -> Sequence[str]:
    """Say which columns a table lacks, although other mistakes end the command before it is read.

    Nothing is said where a policy or a setting may change how the names are read.
    """
    from sfumato.cli.words import all_names

    place, settings = values.get("table"), values.get("settings") or ()
    person = [values["person"]] if values.get("person") else []
    names = [*(name for role in _NAMING for name in all_names(values.get(role))), *all_names(person)]
    is_changed = values.get("policy") or any(
        not isinstance(each, str) or "." in each.partition("=")[0] for each in settings
    )
    if is_changed or not names or not isinstance(place, str | Path) or not os.path.isfile(place):
        return ()
    from sfumato.table.reading import missing_in_file

    return missing_in_file(place, names)


def _absent(name: str, place: str) -> str | None:
    """Say that what a command is to read is not there; a pattern or a URL may name what no file system knows."""
    if name not in ("table", "release", *_READ) or place == "-" or re.search(r"://|[*?[]", place):
        return None
    if os.path.lexists(place):
        return None
    if name == "release":
        from sfumato.cli.released import release_problem

        return release_problem(place)
    return f"{f'--{name}: ' if name in _READ else ''}{place}: there is no such file; check the path"


def _hidden(one: Former) -> inspect.Parameter:
    kind = one.kind if one.kind is bool else list[one.kind] | None if one.many else one.kind | None  # type: ignore[name-defined]
    return inspect.Parameter(
        one.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=False if one.kind is bool else None,
        annotation=Annotated[kind, typer.Option(one.flag, hidden=True)],
    )


def _choice(forms: Forms) -> inspect.Parameter:
    offer = completion.one_of(forms.names)
    kind = Annotated[str | None, option(forms.help, "NAME", forms.flag, complete=offer)]
    return inspect.Parameter(CHOICE, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=kind)


def _options(bundle: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    return [
        inspect.Parameter(
            option.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=option.default, annotation=hints[option.name]
        )
        for option in fields(bundle)
        if not option.metadata
    ]
