"""From the arguments of a call to the one policy that its release is made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Publisher
from sfumato.errors import PolicyError, raise_all
from sfumato.models.checks import promise_words
from sfumato.models.k_map import DeltaPresence
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import of_population, says
from sfumato.policy.columns import column_contradictions
from sfumato.policy.people import People
from sfumato.policy.policy import Policy
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.table.table import Table

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

    def listed(self) -> tuple[Any, ...]:
        """Return the models, which may be given as one."""
        return tuple(self.models) if isinstance(self.models, Sequence) else (self.models,)

    def policy(self, table: Table, seed: int | None) -> Policy:
        """Return the policy that the keywords say. Raises ``PolicyError`` with every mistake at once."""
        filled = (
            self.listed(),
            Mondrian() if self.anonymizer is None else self.anonymizer,
            Recoding() if self.recoding is None else self.recoding,
            0.0 if self.suppression_limit is None else self.suppression_limit,
            0 if self.refine is None else self.refine,
            People() if self.people is None else self.people,
        )
        raise_all(PolicyError, [*table_problems(table), *setting_problems(*filled), *seed_problems(seed)])
        return Policy.of(table.schema, *filled)

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
        ):
            if given is not None and given != of_policy:
                yield f"{name}: the policy says {of_policy!r}, the call {given!r}; {ONE_PLACE}"


def policy_of_call(table: Table, arguments: Arguments, policy: Policy | None, seed: int | None) -> Policy:
    """Return the one policy that a call means: that which it hands in, or that which its keywords say.

    Raises ``PolicyError`` with everything that is no argument, and every field of which a policy and the call, or the
    table, say different things.
    """
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
    """Return a table that has been read, or read what a call hands in, with the roles that it hands in beside it.

    `table`: a table, or anything that can be read as one. `schema`: the roles of its columns, or None. `policies`: the
    policies that the call gives. Raises ``PolicyError`` when the roles are given twice. Raises ``SfumatoError``: what
    is wrong with the table.
    """
    if isinstance(table, Table):
        if schema is not None:
            raise PolicyError("schema: the table was read with one; leave it out")
        return table
    if schema is not None and policies:
        raise PolicyError(f"schema: the policy gives the roles of the columns, too; {ONE_PLACE}")
    roles = policies[0] if policies else schema
    if roles is None:
        return table  # an error that is told with the others
    from sfumato.table.reading import read_table  # the machinery of reading is not needed by who has read already

    return read_table(table, roles)  # type: ignore[arg-type]


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


def presence_problems(
    models: Sequence[PrivacyModel], anonymizer: object, recoding: object, refine: object
) -> list[str]:
    """Say why what is promised about the presence of people cannot be enforced, if so."""
    asking = [model for model in models if isinstance(model, DeltaPresence)]
    if not asking:
        return []
    name, problems = getattr(anonymizer, "name", ""), []
    if not getattr(anonymizer, "shares_nobody", False):
        problems.append(
            f"delta-presence: classes of {name} as it is set may cover the same people, whose chances add up; take "
            "optimal, incognito, datafly, samarati, value-generalization or strict mondrian"
        )
    elif any(model.covers_everybody for model in asking) and not getattr(anonymizer, "knows_regions", False):
        problems.append(
            f"delta-presence: {name} does not know whom no class covers, which a delta_min above 0 asks for; take "
            "optimal, incognito, datafly or samarati"
        )
    if refine:
        problems.append("refine: moves records into classes that may cover the same people; leave it out")
    if getattr(recoding, "suppressed", None) == "star":
        problems.append("recoding: stars cover everybody besides their own class; remove suppressed records instead")
    return problems


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
        problems.append(f"models: {getattr(anonymizer, 'name', '')} enforces no privacy model; leave them out")
    return problems


def _in_words(models: Sequence[Any]) -> str:
    return (
        ", ".join(promise_words(model) if isinstance(model, PrivacyModel) else "no model" for model in models) or "none"
    )
