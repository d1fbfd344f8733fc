"""Commands and options of the last version that go on working for this one: hidden from help, each says what is new.

What such an option says becomes a setting of the policy, as ``--set`` makes it, under the name that was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sfumato.cli.settings import ANY_ROLE, TABS, Setting, names_in
from sfumato.errors import PolicyError

Values = dict[str, Any]
"""What a command line gave, by the names of the parameters of its options."""


@dataclass(frozen=True)
class Former:
    """An option that is written otherwise now: `now`; `apply` puts what it gave where that puts it."""

    flag: str
    now: str
    apply: Callable[[Values, Any], None]
    kind: Any = str
    many: bool = False

    @property
    def name(self) -> str:
        """The name of its parameter."""
        return "former_" + self.flag.strip("-").replace("-", "_")

    @property
    def warning(self) -> str:
        """What is said when it is used."""
        return f"{self.flag} is the form of the last version, and goes with the next one; write {self.now}"


def _add(values: Values, *settings: Setting) -> None:
    values["settings"] = [*settings, *(values.get("settings") or ())]


def _key(
    flag: str, path: str, shown: str = "VALUE", kind: Any = str, convert: Callable[[Any], Any] = lambda value: value
) -> Former:
    """Make an option that sets one key of a policy."""

    def apply(values: Values, value: Any) -> None:
        _add(values, Setting(tuple(path.split(".")), convert(value), flag))

    written = path if "." in path else f"policy.{path}"
    return Former(flag, f"--set {written.removeprefix('anonymizer.')}={shown}", apply, kind)


def _as_before(flag: str, path: str) -> Former:
    """Make a repeatable option whose names go where they went: columns change their role, whatever a policy says."""

    def apply(values: Values, typed: Sequence[str]) -> None:
        values[flag.strip("-")] = typed

    return Former(flag, f"--set {path}=NAMES", apply, many=True)


def _texts(flag: str, path: str, *, are_lists: bool = False) -> Former:
    """Make a repeatable option that sets one key to all that it gave."""

    def apply(values: Values, typed: Sequence[str]) -> None:
        _add(values, Setting(tuple(path.split(".")), _names(typed) if are_lists else list(typed), flag))

    return Former(flag, f"--set {path}={'NAMES' if are_lists else 'TEXTS'}", apply, many=True)


def _names(texts: Sequence[str]) -> list[str]:
    return [name for text in texts for name in names_in(text)]


def _of_columns(flag: str, key: str, value: str) -> Former:
    """Make an option that names columns, each of which gets a setting."""

    def apply(values: Values, typed: Sequence[str]) -> None:
        _add(values, *(Setting(("columns", ANY_ROLE, name, key), value, flag) for name in _names(typed)))

    return Former(flag, f"--set column.NAME.{key}={value}", apply, many=True)


def _written(flag: str, key: str) -> Former:
    """Make an option that says how values are written in the file or, with ``NAME=`` before it, in a column."""
    of_file = "" if key == "unit" else f"--set source.{key}=TEXT, or "

    def apply(values: Values, typed: Sequence[str]) -> None:
        places: dict[tuple[str, ...], list[str]] = {}
        for text in typed:
            name, equals, value = text.rpartition("=")
            is_column = bool(equals and name)
            if key == "unit" and not is_column:
                raise PolicyError("--unit: write it as NAME=TEXT, such as 'pay=€'")
            path = ("columns", ANY_ROLE, name, key) if is_column else ("source", key)
            places.setdefault(path, []).append(value if is_column else text)
        if key != "dates" and any(len(texts) > 1 for texts in places.values()):
            raise PolicyError(f"{flag}: says two things of the same; say one")
        _add(values, *(Setting(path, texts[0] if len(texts) == 1 else texts, flag) for path, texts in places.items()))

    return Former(flag, f"{of_file}--set column.NAME.{key}=TEXT of one column", apply, many=True)


def _subset(values: Values, text: str) -> None:
    column, equals, value = text.partition("=")
    if not equals or not column.strip():
        raise PolicyError("--subset: write it as COLUMN=VALUE")
    for key, given in (("column", column), ("value", value)):
        _add(values, Setting(("subset", key), given.strip(), "--subset"))


def _diversity(values: Values, kind: str) -> None:
    from sfumato.cli.words import diversity_word

    if values.get("l") is not None:
        values["l"] = diversity_word(values["l"], kind)


def _constant(values: Values, c: float) -> None:
    from sfumato.cli.words import diversity_word

    word = values.get("l")
    if word is None:
        raise PolicyError("-c: belongs to recursive l-diversity; write --model recursive-l-diversity:l=3,c=2")
    word = diversity_word(word) if isinstance(word, float) else word
    values["l"] = replace(word, settings={**word.settings, "c": c})


def _k_map(values: Values, k: int) -> None:
    from sfumato.cli.words import ModelWord

    values["model"] = [ModelWord("--k-map", "k-map", {"k": k}, "k"), *(values.get("model") or ())]


def _t_closeness(values: Values, t: float) -> None:
    from sfumato.cli.words import ModelWord

    values["model"] = [ModelWord("-t", "t-closeness", {"t": t}, "t"), *(values.get("model") or ())]


def _diversity_of_list(values: Values, kind: str) -> None:
    if values.get("l") is not None:
        values["l"] = f"{kind}:{values['l']}"


def _within(values: Values, seconds: float) -> None:
    values["anonymizer"] = values.get("anonymizer") or "best"
    _add(values, Setting(("anonymizer", "within"), seconds, "--within"))


def _written_by(values: Values, who: str) -> None:
    if who == "workers":
        if values.get("engine") != "spark":
            raise PolicyError("--written-by: only Spark has workers; add --engine spark, or leave it out")
        values["engine"] = "spark-workers"


def _schema_of(place: str, option: str) -> Callable[[Values, str], None]:
    def apply(values: Values, name: str) -> None:
        from urllib.parse import quote

        from sfumato.table.databases.address import is_database

        url = values.get(place)
        if not is_database(url):
            raise PolicyError(f"--schema: says where a release lies in a database; give the URL of one{option}")
        if "schema=" not in str(url).partition("?")[2]:
            values[place] = f"{url}{'&' if '?' in str(url) else '?'}schema={quote(name, safe='')}"

    return apply


LAYOUT = (
    _key("--separator", "source.separator", "CHARACTER", convert=lambda text: "\t" if text in TABS else text),
    _key("--encoding", "source.encoding", "NAME"),
    _texts("--missing", "source.missing"),
    Former("--no-header", "--set source.header=false", lambda values, _: _add(
        values, Setting(("source", "header"), False, "--no-header")), bool),
    _key("--columns", "source.columns", "NAMES", convert=names_in),
    _key("--table", "source.table", "NAME"),
    _key("--query", "source.query", "FILE"),
    _key("--sheet", "source.sheet", "NAME"),
    _key("--range", "source.range", "CELLS"),
    _texts("--codes", "source.codes", are_lists=True),
)  # fmt: skip
"""How a file is laid out."""
READING = (
    *LAYOUT,
    _written("--decimal", "decimal"),
    _written("--thousands", "thousands"),
    _written("--dates", "dates"),
    _written("--unit", "unit"),
    _of_columns("--strays-missing", "strays", "missing"),
)
"""How a table is read."""
ROLES = (
    _key("--key-form", "columns.key-form", "FORM"),
    _key("--wished-k", "columns.wished-k", "NAME"),
    _key("--wished-l", "columns.wished-l", "NAME"),
    _of_columns("--numeric", "kind", "numeric"),
    _of_columns("--boolean", "kind", "boolean"),
    _as_before("--insensitive", "columns.insensitive"),
)
"""What columns are."""
_Diversity = Literal["entropy", "distinct", "probabilistic", "recursive"]
DIVERSITY = (Former("--diversity", "--model KIND-l-diversity:l=NUMBER", _diversity, _Diversity),)
RECURSIVE = (*DIVERSITY, Former("-c", "--model recursive-l-diversity:l=NUMBER,c=NUMBER", _constant, float))
THREADS = (_key("--threads", "threads", "NUMBER", int),)
PEOPLE = (
    _key("--rows", "people.rows", "HOW"),
    _key("--pseudonyms", "people.pseudonyms", "audit|published"),
    _key("--all-records-k", "people.all-records-k", "NUMBER", int),
    _key("--known-values", "people.known-values", "NUMBER", int),
    _key("--fingerprint-k", "people.fingerprint-k", "NUMBER", int),
    _key("--keyless", "people.keyless", "alone|refuse"),
)
"""What is done about people who have several records."""

RATINGS = (
    _key("--group", "model.group", "ball|trimmed"),
    _key("--nulls", "model.nulls", "skip|g|literal"),
    _key("--sensitive-drawn", "sensitive.drawn", "random|most-rated"),
    _key("--key-form", "ratings.key-form", "FORM"),
    *THREADS,
)
"""What a release of ratings promises, and reads."""

_VERBS = ("anonymize", "check", "attack")
_KINDS = {"ratings": "ratings", "sets": "sets", "private": "private-marginals"}
COMMANDS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    **{
        (kind, verb): (verb, "--kind", kind)
        for kind in ("ratings", "sets")
        for verb in ("anonymize", "check", "attack")
    },
    **{(group, ask): ("anonymize", "--kind", _KINDS[group], "--help") for group in _KINDS for ask in ("--help", "-h")},
    ("private", "publish"): ("anonymize", "--kind", "private-marginals"),
    ("private", "sample"): ("anonymize", "--kind", "private-sample"),
    ("private", "ledger"): ("budget",),
    ("utility",): ("measure", "--what", "utility"),
    ("describe",): ("measure", "--what", "columns"),
    ("series", "grow"): ("series", "append"),
    **{("series", verb): (verb, "--kind", "series") for verb in ("verify", "attack", "compare")},
}
"""Words that named a command → those that do now."""


def renewed(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command as they are written now, and what is said of those of the last version."""
    if words[:1] == ["limits"]:
        return ["help", *words], []
    words = [*words, "--help"] if len(words) == 1 and words[0] in _KINDS else words
    for former, now in COMMANDS.items():
        if tuple(words[: len(former)]) == former:
            sentence = "is the form of the last version, and goes with the next one; write"
            return [*now, *words[len(former) :]], [f"sfumato {' '.join(former)} {sentence} sfumato {' '.join(now)}"]
    return list(words), []


TABLE = (*READING, *ROLES)
FORMER: Mapping[str, tuple[Former, ...]] = {
    "anonymize": (
        *TABLE, *RECURSIVE, *THREADS, *PEOPLE,
        _key("--format", "output.format", "FORMAT", Literal["csv", "parquet", "xlsx", "sav", "dta"]),
        Former("--k-map", "--model k-map:k=NUMBER", _k_map, int),
        Former("-t", "--model t-closeness:t=NUMBER", _t_closeness, float),
        _key("--population", "population", "FILE"),
        Former("--subset", "--set subset.column=NAME --set subset.value=VALUE", _subset),
        _key("--strata", "anonymizer.strata", "NAMES", convert=names_in),
        _key("--refine", "refine", "NUMBER", int),
        Former("--within", "--anonymizer best --set within=SECONDS", _within, float),
        Former("--written-by", "--engine spark-workers", _written_by, Literal["here", "workers"]),
        Former("--schema", "?schema=NAME at the end of the URL in --out", _schema_of("out", " with --out")),
    ),
    "verify": (Former("--schema", "?schema=NAME at the end of the URL", _schema_of("release", "")),),
    "check": TABLE,
    "correlation": TABLE,
    "review": TABLE,
    "init": READING,
    "risk": TABLE,
    "attack": TABLE,
    "compare": (*TABLE, *THREADS, Former("--diversity", "-l KIND:LIST", _diversity_of_list, _Diversity)),
    "measure": READING,
    "measure --what utility": READING,
    "measure --what columns": READING,
    "report": READING,
    "hierarchy": READING,
    "studio": LAYOUT,
    "anonymize --kind private-marginals": (*TABLE, _key("--max-records", "model.max-records", "NUMBER", int)),
    "anonymize --kind private-sample": (*TABLE, _key("--max-records", "model.max-records", "NUMBER", int)),
    "anonymize --kind ratings": (*LAYOUT, *RATINGS),
    "attack --kind ratings": (*LAYOUT, *RATINGS),
    "check --kind ratings": LAYOUT,
    "anonymize --kind sets": LAYOUT,
    "attack --kind sets": LAYOUT,
    "check --kind sets": LAYOUT,
    "series start": (*TABLE, *RECURSIVE, *THREADS),
    "series append": READING,
    "series republish": READING,
    "attack --kind series": READING,
    "compare --kind series": (*TABLE, *RECURSIVE),
}  # fmt: skip
"""Command → its former options, in the order in which they are applied."""
