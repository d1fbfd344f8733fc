"""What a call asks for, checked before any work: its arguments as one policy, columns that pass, wishes of people.

A model protects quasi-identifying columns and what they say of sensitive ones. Everything else passes through.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.auto import GUARDED
from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress, Publisher, silent
from sfumato.classes.statistics import statistics_of
from sfumato.engines import Engine, LocalEngine
from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.findings.review import (
    Finding,
    OpenFindings,
    ReadTable,
    Severity,
    remarks_on,
    severe_findings,
    wrong_answers,
)
from sfumato.models import GENERALIZE
from sfumato.models.protocol import (
    TRAITS,
    PrivacyModel,
    Rule,
    about_values,
    compared_with_original,
    of_population,
    promise_words,
    says,
    whole_table_models,
)
from sfumato.policy.parts import People, Wish, column_contradictions
from sfumato.policy.policy import DEFAULT_ANONYMIZER, Policy, Withstand, anonymizer_entry
from sfumato.progress import thread_count
from sfumato.published.checks.generalized import columns_without_promise
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.table.encoding import EncodedTable
from sfumato.table.identification import Look, Sort
from sfumato.table.schema import Attribute, Kind, Role, Schema, text_of
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.published.checks.population import Register

ONE_PLACE = "say it in one place"


@dataclass(frozen=True, eq=False)
class Arguments:
    """What the keywords of a call say of its policy; None says nothing, and so does no model."""

    models: Any = ()
    anonymizer: Any = None
    recoding: Any = None
    suppression_limit: Any = None
    refine: Any = None
    people: Any = None
    withstand: Any = None

    def listed(self) -> tuple[Any, ...]:
        """Return the models, which may be given as one."""
        return tuple(self.models) if isinstance(self.models, Sequence) else (self.models,)

    def policy(self, table: Table, seed: int | None) -> Policy:
        """Return the policy that the keywords say. Raises ``PolicyError`` with every mistake at once."""
        filled = (
            self.listed(),
            ANONYMIZERS[DEFAULT_ANONYMIZER]() if self.anonymizer is None else self.anonymizer,
            Recoding() if self.recoding is None else self.recoding,
            0.0 if self.suppression_limit is None else self.suppression_limit,
            0 if self.refine is None else self.refine,
            People() if self.people is None else self.people,
        )
        words = () if self.withstand is None else self.withstand
        asked: tuple[Withstand, ...] = (words,) if isinstance(words, str) else tuple(words)  # type: ignore[assignment]
        problems = [*table_problems(table), *setting_problems(*filled), *seed_problems(seed)]
        if not {*asked} <= {*get_args(Withstand)}:
            problems.append(f"withstand: must be some of {', '.join(get_args(Withstand))}")
        raise_all(PolicyError, problems)
        return Policy.of(table.schema, *filled, withstand=asked)

    def contradictions(self, policy: Policy) -> Iterator[str]:
        """Name every field that a call says otherwise than its policy."""
        named = self.listed()
        if named and list(named) != policy.to_models():
            ours, other = (_in_words(models) for models in (policy.to_models(), named))
            yield f"models: the policy promises {ours}, the call {other}; {ONE_PLACE}"
        if self.anonymizer is not None and self.anonymizer != policy.to_anonymizer():
            ours, other = policy.anonymizer.name, getattr(self.anonymizer, "name", "something else")
            other = "the same with other options" if ours == other else str(other)
            yield f"anonymizer: the policy names {ours}, the call {other}; {ONE_PLACE}"
        if self.recoding is not None and self.recoding != policy.to_recoding():
            yield f"recoding: the policy says another one than the call; {ONE_PLACE}"
        if self.people is not None and self.people != policy.to_people():
            yield f"people: the policy says something else than the call; {ONE_PLACE}"
        for name, of_policy, given in (
            ("suppression_limit", policy.suppression_limit, self.suppression_limit),
            ("refine", policy.refine or 0, self.refine),
            ("withstand", policy.withstand, None if self.withstand is None else tuple(self.withstand)),
        ):
            if given is not None and given != of_policy:
                yield f"{name}: the policy says {of_policy!r}, the call {given!r}; {ONE_PLACE}"


def policy_of_call(table: Table, arguments: Arguments, policy: Policy | None, seed: int | None) -> Policy:
    """Return the one policy that a call means, handed in or said by keywords; or every field said twice."""
    given = [each for each in (arguments.models, policy) if isinstance(each, Policy)]
    arguments = replace(arguments, models=()) if isinstance(arguments.models, Policy) else arguments
    if policy is not None and not isinstance(policy, Policy):
        raise PolicyError("policy: must be a Policy, such as Policy.from_file('policy.toml')")
    if not given:
        return arguments.policy(table, seed)
    problems = [*table_problems(table), *seed_problems(seed), *arguments.contradictions(given[0])]
    if given[0] != given[-1]:
        problems.append(f"policy: the call gives two, which differ; {ONE_PLACE}")
    if isinstance(table, Table):
        problems += column_contradictions(given[0].columns, table.schema)
    raise_all(PolicyError, problems)
    return given[0]


def read_for_call(table: object, schema: object, policies: Sequence[Policy]) -> object:
    """Return a table that has been read, or read what a call hands in, with the roles that it hands in beside it."""
    is_read = isinstance(table, Table)
    if schema is not None and policies and not is_read:
        raise PolicyError(f"schema: the policy gives the roles of the columns, too; {ONE_PLACE}")
    roles = policies[0] if policies and not is_read else schema
    if roles is None:
        return table  # an error that is told with the others, if it is none
    from sfumato.table.reading import read_with  # the machinery of reading is not needed by who has read already

    return read_with(table, roles)  # type: ignore[arg-type]


def table_problems(table: object) -> list[str]:
    """Say what is wrong with something that should be a table."""
    if isinstance(table, Table):
        return []
    return [
        "table: is not a Table; read it with sfumato.read_table, or say what its columns are "
        "(schema=sfumato.Schema(quasi_identifying=[...]), or a policy)"
    ]


def setting_problems(
    models: Sequence[object],
    anonymizer: object,
    recoding: object,
    suppression_limit: object,
    refine: object,
    people: object,
) -> list[str]:
    """Say of everything that a policy holds what can be told without looking into a table."""
    problems = []
    if isinstance(anonymizer, type) or not isinstance(anonymizer, (Anonymizer, Publisher)):
        problems.append("anonymizer: is not an anonymizer; give one such as Mondrian()")
    if not isinstance(recoding, Recoding):
        problems.append("recoding: is not a Recoding; give one such as Recoding(numeric='mean')")
    problems += _model_problems(models, anonymizer)
    if not (isinstance(suppression_limit, (int, float)) and 0 <= suppression_limit <= 1):
        problems.append("suppression_limit: must be a fraction from 0 to 1")
    if not isinstance(refine, int) or isinstance(refine, bool) or refine < 0:
        problems.append("refine: must be a whole number, 0 or above")
    if not isinstance(people, People):
        problems.append("people: is not a People; give one such as People(rows='apart')")
    return problems


def population_argument_problems(models: Sequence[PrivacyModel], table: object, *, known: bool) -> list[str]:
    """Say whether a table of the population is missing, or superfluous, or does not go with the table."""
    asking = ", ".join(dict.fromkeys(model.name for model in of_population(models)))
    problems = []
    if known and not asking:
        problems.append("population: no model speaks of a population; leave it out")
    if asking and not known:
        problems.append(f"population: {asking} speaks of people of a population; give the table of them")
    of_people = isinstance(table, Table) and table.people is not None
    return problems + (one_record_problems(models) if of_people else [])


def one_record_problems(models: Sequence[PrivacyModel]) -> list[str]:
    """Name the models that say nothing of people with several records."""
    single = ", ".join(dict.fromkeys(model.name for model in models if says(model).one_record_each))
    sentence = f"models: {single} takes every record for a person of its own; leave the person column out"
    return [sentence] if single else []


def makers_that(*able: str) -> str:
    """Name the anonymizers that, as they are by default, say all of this of themselves."""
    makers = ((name, made()) for name, made in ANONYMIZERS.items())
    *some, last = (name for name, made in makers if all(getattr(made, each, False) for each in able))
    return f"{', '.join(some)} or {last}"


DELTA_PRESENCE = "delta-presence"
"""The name of the model that speaks of who is in the table."""


def presence_problems(
    models: Sequence[PrivacyModel], anonymizer: object, recoding: object, refine: object
) -> list[str]:
    """Say why what is promised about the presence of people cannot be enforced, if so."""
    asking = [model for model in models if model.name == DELTA_PRESENCE]
    if not asking or hasattr(anonymizer, "publish"):  # A publisher refuses it with its own reason.
        return []
    name, problems = getattr(anonymizer, "name", ""), []
    if not getattr(anonymizer, "shares_nobody", False):
        problems.append(
            f"delta-presence: classes of {name} as it is set may cover the same people, whose chances add up; take "
            f"{makers_that('shares_nobody')}"
        )
    elif any(getattr(model, "covers_everybody", False) for model in asking) and not getattr(
        anonymizer, "knows_regions", False
    ):
        problems.append(
            f"delta-presence: {name} does not know whom no class covers, which a delta_min above 0 asks for; take "
            f"{makers_that('shares_nobody', 'knows_regions')}"
        )
    if refine:
        problems.append("refine: moves records into classes that may cover the same people; leave it out")
    if getattr(recoding, "suppressed", None) == "star":
        problems.append("recoding: stars cover everybody besides their own class; remove suppressed records instead")
    return problems


AUTO = "auto"
"""The anonymizer that only says which other one is taken."""


def with_choice(policy: Policy, records: int | None) -> Policy:
    """Return the policy with what ``auto`` takes for so many records; None: for any number of them."""
    if policy.anonymizer.name != AUTO:
        return policy
    columns = len(policy.columns.quasi_identifying)
    columns *= GUARDED if promised_columns(policy.to_models(), _sensitive(policy)) else 1
    made = policy.anonymizer.build().choice(records, columns, lambda maker: _does_all(maker, policy))
    return policy.model_copy(update={"anonymizer": anonymizer_entry(made)})


def harden(policy: Policy) -> Policy:
    """Return the policy with labels and maker that it needs to withstand; who names a maker keeps it, and plays it."""
    update: dict[str, Any] = {}
    maker = policy.to_anonymizer()
    if "labels" in policy.withstand and isinstance(maker, Anonymizer):
        update["recoding"] = policy.recoding.model_copy(update={"labels": "declared"})
    if "algorithm" in policy.withstand and maker.name == AUTO and about_values(policy.to_models(), _sensitive(policy)):
        update["anonymizer"] = anonymizer_entry(replace(maker, blind=True))  # type: ignore[type-var]
    return policy.model_copy(update=update) if update else policy


def _sensitive(policy: Policy) -> list[str]:
    return list(policy.columns.sensitive)


def looks_at_nobody(policy: Policy) -> bool:
    """Tell whether nothing that the maker does can hang on who has which sensitive value.

    Where no promise is about these values, classes are made of quasi-identifying ones; buckets of drawn members of
    each value depend on the counts alone, which they publish.
    """
    maker = policy.to_anonymizer()
    if isinstance(maker, Publisher):
        return bool(getattr(maker, "by_sensitive_alone", False))
    # Of makers from outside the library nobody knows what they look at.
    ours = type(maker).__module__.startswith("sfumato.") and getattr(maker, "label", None) is None
    return ours and not about_values(policy.to_models(), _sensitive(policy))


def withstand_problems(policy: Policy, *, plays: bool, of_population: bool) -> Iterator[str]:
    """Say why what is to be withstood cannot be asked for. `plays`: whether attacks are played on the release."""
    asked = policy.withstand
    if not asked:
        return
    if not plays:
        yield "withstand: attacks are played on one release that is made in memory; leave withstand out here"
    if of_population:
        yield "withstand: attacks are not played on promises about a population; leave it out"
    if "labels" in asked and isinstance(policy.to_anonymizer(), Publisher):
        yield f"withstand: labels: {policy.anonymizer.name} publishes original values, not labels; leave labels out"
    bare = [word for word in ("algorithm", "others") if word in asked and not policy.columns.sensitive]
    yield from (
        f"withstand: {word}: no column is sensitive, so there is nothing to learn; leave it out" for word in bare
    )
    if "algorithm" in asked and policy.columns.person is not None and looks_at_nobody(policy):
        yield (
            "withstand: algorithm: which of several records of a person is taken first may hang on sensitive values; "
            "leave it out where people have several records"
        )


def _does_all(maker: Anonymizer, policy: Policy) -> bool:
    """Tell whether an anonymizer can do what a policy asks, at a cost that a table of its size allows."""
    models, columns = policy.to_models(), policy.columns
    wished_l = columns.wished_l is not None or any(wish.l for wish in policy.wishes)
    compares = any(TRAITS[rule.code].relative for model in models for rule in _rules_of(model, columns.sensitive))
    # What merges classes would have to be run for many a k, or look at the whole table at each step; and small classes
    # have few values that people share.
    only_cut = (
        wished_l
        or policy.to_people().fingerprint_k is not None
        or compares
        or of_population(models)
        or whole_table_models(models)
    )
    return all(
        (
            not only_cut or getattr(maker, "only_cuts", False),
            policy.to_people().rows != "apart" or getattr(maker, "people_apart", None) == "any model",
            not presence_problems(models, maker, policy.to_recoding(), policy.refine),
        )
    )


def _rules_of(model: PrivacyModel, sensitive: Collection[str]) -> Sequence[Rule]:
    # What does not fit the columns is told with all other mistakes.
    with suppress(SfumatoError):
        return model.rules(list(sensitive))
    return ()


def _model_problems(models: Sequence[object], anonymizer: object) -> list[str]:
    problems = [
        f"models[{place}]: is not a privacy model"
        for place, model in enumerate(models)
        if isinstance(model, type) or not isinstance(model, PrivacyModel)
    ]
    promising = bool(getattr(anonymizer, "promises", True))
    if promising and not models:
        problems.append("models: name at least one privacy model, e.g. KAnonymity(5)")
    if models and not promising:
        name = getattr(anonymizer, "name", "")
        problems.append(f"models: {name} enforces no privacy model; leave them out, or {GENERALIZE}")
    return problems


def _in_words(models: Sequence[Any]) -> str:
    return (
        ", ".join(promise_words(model) if isinstance(model, PrivacyModel) else "no model" for model in models) or "none"
    )


NEVER_PUBLISHED = (Role.IDENTIFYING, Role.PERSON, Role.WISHED_K, Role.WISHED_L)
MANY_CATEGORIES = 50
"""Of so many categories sets say little."""
MANY_COLUMNS = 12
"""So many quasi-identifying columns are more than classes of a few records can share."""


def passing_problems(table: ReadTable) -> Iterator[tuple[str, str]]:
    """Name every column that must not be published unless somebody says so, and why.

    These are columns without a role of their own that look as if they identified people, and quasi-identifying ones of
    which classes would publish sets of exact values: categories without a hierarchy of which more than half differ, or
    that reach a person by themselves.
    """
    for name in _undecided(table, table.schema.insensitive):
        look = table.look(name)
        if name in table.passing and look.sorts:
            problem = f"column {name!r} has no role and would be published as it is, but {look.sentence()}; give it a "
            yield name, f"{problem}role (--identifying {name} removes it), or {_way_out(name, 'it is')}"
    for name in _undecided(table, _bare_categories(table)):
        look = table.look(name)
        if look.is_mostly_distinct or (look.by_value is not None and look.by_value.is_direct):
            problem = f"column {name!r} is quasi-identifying without a hierarchy, but {_why_not_sets(look)}, so that "
            yield (
                name,
                f"{problem}sets of its values would be published; give it a hierarchy (sfumato hierarchy TABLE {name} "
                f"drafts one), remove it (--identifying {name}), or {_way_out(name, 'such sets are')}",
            )


def refuse_open_findings(table: ReadTable, policy: Policy, unread: Collection[str] = frozenset()) -> None:
    """Raise OpenFindings where something in a column stops a release, and nobody has said that it may stay so.

    Of a policy without any answer findings are told beside the result: it is of the last version. `unread`: columns
    that reading asks about first.
    """
    accept = policy.columns.accept
    raise_all(PolicyError, wrong_answers(accept))
    promised = promised_columns(policy.to_models(), table.schema.sensitive)
    severe = () if accept is None else severe_findings(table, promised)
    found = [each for each in severe if not {*unread} & {*each.columns}]
    problems = {name: each for name, each in passing_problems(table) if name not in unread}
    if found or problems:
        raise OpenFindings.of(found, problems)


def with_open_findings(
    error: InputError, policy: Policy, schema: Schema, read: Callable[[Schema], ReadTable]
) -> SfumatoError:
    """Add to what reading asks of columns what would stop the release of the others, so that nobody answers twice.

    `read`: reads the table again, with a schema that takes for text what is asked about.
    """
    if not error.answers:
        return error
    later = SfumatoError()
    try:
        refuse_open_findings(read(_as_texts(schema, error.answers)), policy, error.answers)
    except OpenFindings as found:
        later = found
    except SfumatoError:
        pass  # what else is wrong is said when these have been answered
    together = type(error)(*error.problems, *later.problems)
    together.answers = {**later.answers, **error.answers}
    return together


def _as_texts(schema: Schema, names: Collection[str]) -> Schema:
    def read(columns: Mapping[str, Attribute]) -> dict[str, Attribute]:
        return {name: Attribute(kind=Kind.CATEGORICAL) if name in names else of for name, of in columns.items()}

    return replace(schema, quasi_identifying=read(schema.quasi_identifying), sensitive=read(schema.sensitive))


def promised_columns(models: Sequence[PrivacyModel], sensitive: Collection[str]) -> set[str]:
    """Return the sensitive columns of which a model counts the values; what does not fit them is said elsewhere."""
    fitting = []
    for model in models:
        with suppress(SfumatoError):
            model.rules(list(sensitive))
            fitting.append(model)
    return {*sensitive} - {*columns_without_promise(fitting, sensitive)}


def finding_notes(findings: Sequence[Finding]) -> Iterator[str]:
    """Tell of findings that stop a release from the next version on, and how they are answered."""
    severe = [finding for finding in findings if finding.severity is Severity.SEVERE]
    # What looks as if it identified people has a note of its own.
    yield from (f"{each.where}{each.question}" for each in severe if each.name == "spellings")
    if severe:
        keys = ", ".join(key for finding in severe for key in finding.keys)
        yield (
            f"From the next version on a release stops until somebody answers {keys}. Answer in the policy with the "
            "list columns.accept, in Python with Schema(accept=[...])."
        )


def passing_notes(table: ReadTable, published: Collection[str]) -> tuple[str, ...]:
    """Tell of insensitive and sensitive texts that look as if they identified people, and of unpublished columns."""
    schema = table.schema
    private = [name for name in schema.sensitive if table.kinds[name] is Kind.CATEGORICAL]
    suspicious = {
        **{name: table.look(name).sorts for name in _undecided(table, schema.insensitive)},
        **{name: _of_texts(table.look(name)) for name in _undecided(table, private)},
    }
    looking = (
        f"Column {name!r} is {schema.roles[name]}, and its values are published as they are: "
        f"{table.look(name).sentence()}. Remove it unless it is needed; publish={name!r} (--publish {name}) says so."
        for name, sorts in suspicious.items()
        if sorts and name in published and name not in table.passing
    )
    never = (
        f"Column {name!r} is never published: its role is {schema.roles[name]}. publish={name!r} does not change that."
        for name in schema.publish
        if schema.roles.get(name) in NEVER_PUBLISHED
    )
    return (*looking, *never)


def advice_on_columns(table: ReadTable) -> tuple[str, ...]:
    """Say which quasi-identifying columns need a hierarchy, and that there are many of them."""
    needing = tuple(
        f"Column {name!r} has {table.look(name).distinct:,} categories and no hierarchy: classes publish sets; "
        f"`sfumato hierarchy TABLE {name}` drafts one."
        for name in _bare_categories(table)
        if table.look(name).distinct >= MANY_CATEGORIES
    )
    count = len(table.schema.quasi_identifying)
    if count < MANY_COLUMNS:
        return needing
    return (
        *needing,
        f"There are {count} quasi-identifying columns. With so many nearly every record is unlike all others, and "
        "what is published is wide. `sfumato risk` on them says which to leave out first.",
    )


def _undecided(table: ReadTable, names: Collection[str]) -> list[str]:
    """Return those of some columns of which nobody has said that they are to be published."""
    answers = table.schema.answers
    return [name for name in names if not answers("identifier", name) and not answers("free-text", name)]


def _bare_categories(table: ReadTable) -> list[str]:
    """Return the quasi-identifying columns of which classes publish sets of values."""
    quasi = table.schema.quasi_identifying
    return [name for name in quasi if quasi[name].hierarchy is None and table.kinds[name] is Kind.CATEGORICAL]


def _of_texts(look: Look) -> tuple[Sort, ...]:
    by_value = look.by_value
    return (by_value,) if by_value is not None and (by_value.is_direct or by_value is Sort.FREE_TEXT) else ()


def _why_not_sets(look: Look) -> str:
    mostly = f"most of its values differ ({look.distinct:,} values in {look.known:,} records)"
    parts = (look.sentence(), mostly if look.is_mostly_distinct and not look.is_nearly_unique else "")
    return ", ".join(filter(None, parts))


def _way_out(name: str, what: str) -> str:
    return f"say that {what} to be published: --publish {name} (in Python publish=[{name!r}])"


def wished(
    own: NDArray[np.integer] | None,
    rules: Mapping[Wish, int],
    height: int,
    names: Collection[str],
    records_of: Callable[[Wish], NDArray[np.bool_]],
) -> NDArray[np.int64] | None:
    """Return what each record's person wishes for, 1: nothing; None: nobody wishes.

    `rules`: what each gives at least.
    """
    if not rules and own is None:
        return None
    raise_all(
        PolicyError,
        [
            f"wishes: column {wish.column!r} is not in the table, or has no role; correct it, or give it one"
            for wish in rules
            if wish.column not in names
        ],
    )
    wishes = np.ones(height, dtype=np.int64) if own is None else own.astype(np.int64)
    idle = []
    for wish, least in rules.items():
        about = records_of(wish)
        wishes = np.where(about, np.maximum(wishes, least), wishes)
        if not about.any():
            idle.append(wish.column)
    # A value that is spelled otherwise would protect nobody, and nobody would hear of it.
    raise_all(
        PolicyError,
        [
            f"wishes: no record has the value of column {column!r} that a rule is about; "
            "correct the spelling, or leave the rule out"
            for column in idle
        ],
    )
    return wishes


LOG = logging.getLogger("sfumato.release")
STEPS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """What is to be done.

    Raises ``PolicyError`` with every mistake at once. Raises ``SchemaError`` with every column that nobody has said is
    to be published, though it looks as if it identified people.
    """

    table: Table
    policy: Policy  # everything that the release is made from, but for the table
    bound: bool = False
    seed: int | None = None
    threads: int | None = None  # None takes what the policy says
    progress: Progress = silent
    read: EncodedTable | None = None  # the table's codes, where they are known already
    engine: Engine = field(default_factory=LocalEngine)  # where the work runs
    population: Table | None = None  # everybody who might be in the table, where a model speaks of them
    plays: bool = False  # whether the attacks are played that the policy wants withstood

    def __post_init__(self) -> None:
        """Check what can be told before any work, of the columns that pass through last: that looks into the table."""
        if isinstance(self.table, Table):
            object.__setattr__(self, "policy", with_choice(harden(self.policy), self.table.height))
        limit, rounds = self.policy.suppression_limit, self.policy.refine or 0
        problems = setting_problems(self.models, self.anonymizer, self.recoding, limit, rounds, self.people)
        problems += population_argument_problems(self.models, self.table, known=self.population is not None)
        problems += presence_problems(self.models, self.anonymizer, self.recoding, rounds)
        problems += withstand_problems(self.policy, plays=self.plays, of_population=self.population is not None)
        raise_all(PolicyError, [*table_problems(self.table), *problems, *seed_problems(self.seed)])
        refuse_open_findings(self.table, self.policy)

    @cached_property
    def models(self) -> tuple[PrivacyModel, ...]:
        """What the policy promises. Empty exactly for publishers that promise nothing."""
        return tuple(self.policy.to_models())

    @cached_property
    def anonymizer(self) -> Anonymizer | Publisher:
        """The algorithm that the policy names."""
        return self.policy.to_anonymizer()

    @cached_property
    def recoding(self) -> Recoding:
        """How classes are published."""
        return self.policy.to_recoding()

    @cached_property
    def people(self) -> People:
        """What is done about people who have several records."""
        return self.policy.to_people()

    def encoded(self) -> EncodedTable:
        """Return the codes, as :func:`~sfumato.table.encoding.encode` does; ``SfumatoError`` with all problems."""
        encoded = self.read or self.engine.encode(self.table)
        if self.population is None:
            return encoded
        from sfumato.classes.population import among_population

        return among_population(encoded, self.table, self.population)

    def findings(self, encoded: EncodedTable) -> tuple[Finding, ...]:
        """Return what is told of the columns beside the result; `encoded`: the codes of the table."""
        schema = self.table.schema
        coded = ((encoded.attributes, encoded.codes), (encoded.sensitive, encoded.sensitive_codes))
        counted = (
            (attribute, np.bincount(codes[:, place], minlength=attribute.cardinality))
            for attributes, codes in coded
            for place, attribute in enumerate(attributes)
        )
        promised = promised_columns(self.models, schema.sensitive)
        return (*severe_findings(self.table, promised), *remarks_on(counted, schema, promised))

    @property
    def is_of_people(self) -> bool:
        """Whether people are counted, or wish for something; else each record is a person of its own."""
        return (
            self.table.people is not None
            or self.wishes is not None
            or self.wished_l is not None
            or self.people != People()
        )

    @property
    def register(self) -> Register | None:
        """The population as a recount takes it."""
        if self.population is None:
            return None
        from sfumato.published.checks.population import Register

        return Register(self.population, self.recoding)

    @cached_property
    def wishes(self) -> NDArray[np.int64] | None:
        """The k that is wished for in each record, int64 (n,), by its column and by rules; None: nobody wishes.

        Raises ``PolicyError`` when a wish of the policy names a column that the table does not have, or a value that
        nobody has.
        """
        return self._wished(self.table.wishes, {wish: wish.k for wish in self.policy.wishes if wish.k})

    def _wished(self, own: NDArray[np.int64] | None, wishes: Mapping[Wish, int]) -> NDArray[np.int64] | None:
        frame = self.table.frame
        return wished(own, wishes, frame.height, frame.columns, lambda wish: meant_by(wish, self.table))

    @cached_property
    def wished_l(self) -> NDArray[np.int64] | None:
        """The same for the l."""
        return self._wished(self.table.wished_l, {wish: wish.l for wish in self.policy.wishes if wish.l})

    def problem(self, encoded: EncodedTable) -> Problem:
        """Return the problem that the algorithm is handed."""
        # A fraction such as 0.1 is not exact, and must not cost a record.
        limit = math.floor(self.policy.suppression_limit * encoded.height + 1e-9)
        threads = thread_count(self.policy.threads if self.threads is None else self.threads)
        return Problem(encoded, self._settled_models(encoded), limit, self.seed, threads, self.progress)

    def _settled_models(self, encoded: EncodedTable) -> list[PrivacyModel]:
        """Return the models with the original records that some compare with, where any may be left out."""
        everybody = np.zeros(encoded.height, dtype=np.int32)
        asking = self.policy.suppression_limit > 0 and any(says(model).needs_original for model in self.models)
        return compared_with_original(self.models, statistics_of(encoded, everybody, 1) if asking else None)

    def step(self, what: str, done: int) -> None:
        """Report progress."""
        LOG.info("%s %d records", what, self.table.height)
        self.progress(what, done, STEPS)


def meant_by(wish: Wish, table: Table) -> NDArray[np.bool_]:
    """Tell whom a rule of a policy is about, whose column is in the table; bool (n,)."""
    return (text_of(table.frame[wish.column]) == wish.value).fill_null(False).to_numpy()
