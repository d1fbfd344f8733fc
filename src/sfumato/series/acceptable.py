"""What no series can hold: policies that are refused before anything is made, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.anonymizers.protocol import Anonymizer, Publisher
from sfumato.classes.partition import Form
from sfumato.errors import PolicyError, raise_all
from sfumato.hierarchy import Groups, HierarchyTable
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import DistinctLDiversity, ProbabilisticLDiversity
from sfumato.models.protocol import least_class_size, says
from sfumato.policy.parts import Column, People, policy_columns
from sfumato.policy.policy import FORMER_ANONYMIZER, Policy
from sfumato.release.folding import anonymizer_problems
from sfumato.release.task import AUTO
from sfumato.series.description import APPEND, ARRIVED, GROW, WAYS, ways_of_series
from sfumato.table.person_keys import as_person_key, named_key
from sfumato.table.schema import Attribute
from sfumato.table.writing import PLAIN

WISHED = ("wished-k", "wished-l")
FROZEN = "not what the series was started with, which is frozen; take the change back, or start another series"


def key_of_series(policy: Policy, key: str | Sequence[str] | None, way: str = APPEND) -> str | tuple[str, ...]:
    """Return the column, or columns, of who a record is about, or raise PolicyError when that is not clear."""
    columns, named = policy.columns, (key,) if isinstance(key, str) else tuple(key or ())
    if WAYS[way].people and columns.person is not None and named and {*named} != {*columns.key_columns}:
        raise PolicyError(
            f"key: the policy says that {named_key(columns.person)} says who a record is about (person); leave the key "
            "out, or the role"
        )
    strange = [name for name in named if name not in (*columns.key_columns, *columns.identifying)]
    if strange or len({*named}) < len(named):
        twice = f"key: names column {next((name for name in named if named.count(name) > 1), '')!r} twice; name it once"
        raise PolicyError(
            f"key: column {strange[0]!r} is not identifying; give it that role, so that it is removed, and name it "
            "again"
            if strange
            else twice
        )
    chosen = (
        as_person_key(named) or columns.person or (columns.identifying[0] if len(columns.identifying) == 1 else None)
    )
    if chosen is None:
        raise PolicyError(
            "key: name the identifying column that says who a record is about (on the command line --key); without it "
            "nobody can tell who was there before"
        )
    return chosen


def refuse(policy: Policy, way: str = APPEND) -> None:
    """Raise PolicyError with every reason for which a policy cannot be that of a series of a way."""
    if way not in ways_of_series():
        raise PolicyError(f"way: {way!r} is none; known are {', '.join(ways_of_series())}")
    growing = _of_growing(policy) if way == GROW else ()
    raise_all(
        PolicyError,
        [
            *_of_models(policy),
            *_of_the_way(policy),
            *_of_people(policy, way),
            *_of_wishes(policy, way),
            *_of_format(policy),
            *_of_orders(policy),
            *growing,
        ],
    )


def _of_format(policy: Policy) -> Iterator[str]:
    """Say in which formats the releases of a series cannot be compared with each other."""
    if policy.output.format not in PLAIN:
        yield f"output.format: a series is written as {' or '.join(PLAIN)}; take one of them"
    if policy.output.cells is not None:
        yield "output.cells: a series publishes labels alone; leave it out"


def _of_orders(policy: Policy) -> Iterator[str]:
    """Say which columns have labels that the releases of a series cannot compare."""
    for name, column in policy.columns.quasi_identifying.items():
        if column.kind == "ordered":
            yield (
                f"column {name!r}: a series compares labels of its releases, which do not say the order of texts; "
                "declare it categorical, with groups() as hierarchy where neighbours may be one"
            )


def _of_growing(policy: Policy) -> Iterator[str]:
    """Say what classes that take newcomers in cannot be made of, or recounted from their labels."""
    columns = policy.columns
    if policy.to_anonymizer().name != FORMER_ANONYMIZER or policy.refine:
        yield "anonymizer: grow cuts classes itself, from those of mondrian on; leave other algorithms and refine out"
    if not least_class_size(policy.to_models()):
        yield "models: grow needs a smallest class; add k-anonymity (-k)"
    roles = (columns.quasi_identifying, columns.sensitive, columns.identifying, columns.insensitive)
    if any(ARRIVED in role for role in roles):
        yield (
            f"column {ARRIVED!r}: grow publishes a column of this name, the releases with which the people of a class "
            "came; name that of the table otherwise"
        )
    for name, attribute in policy.to_schema().quasi_identifying.items():
        tree = attribute.hierarchy
        if tree is not None and not isinstance(tree, (HierarchyTable, Groups)):
            yield (
                f"column {name!r}: this hierarchy is built from the values that are there, which change from month to "
                "month. The way grow needs one that lists all values (a hierarchy file, or groups). Leave the "
                "hierarchy out, or use append"
            )
    recoding = policy.to_recoding()
    if Form.MEAN in (recoding.numeric, *recoding.forms.values()):
        yield "recoding: a mean does not say which values its class covers; grow needs intervals or value sets"


def published_policy(policy: Policy, way: str) -> str:
    """Return the edition of a policy that goes into the releases of a series, with the column that its way adds."""
    added, columns = WAYS[way].added, policy.columns
    if added is not None:
        quasi = {**columns.quasi_identifying, added: Column()}
        policy = policy.model_copy(update={"columns": columns.model_copy(update={"quasi_identifying": quasi})})
    return policy.published()


def _of_models(policy: Policy) -> Iterator[str]:
    for model in policy.to_models():
        # A class that keeps its promise when others go keeps it when others come: it is judged alone.
        if not says(model).survives_suppression:
            yield (
                f"models: {model.name} does not judge each class by itself. It compares it with the rest of the table, "
                "which changes with every release. A class could break it later without any change of its own. Use "
                "k-anonymity, l-diversity or guarded values in a series"
            )


def _of_the_way(policy: Policy) -> Iterator[str]:
    anonymizer = policy.to_anonymizer()
    if isinstance(anonymizer, Publisher):
        yield (
            f"anonymizer: {anonymizer.name} makes no classes of records that could stay as they are while others "
            "come; a series needs one that makes a generalized table, such as mondrian"
        )
    if policy.suppression_limit:
        yield (
            "suppression-limit: a series leaves nobody out. Who is left out of one release would have to stay out of "
            "all. Coming later would show who did not fit. Leave the limit out; who cannot be published yet waits"
        )


def _of_people(policy: Policy, way: str) -> Iterator[str]:
    people, anonymizer = policy.to_people(), policy.to_anonymizer()
    if not WAYS[way].people:
        if people != People():
            yield (
                f"people: a series of {way} holds one record of each person{_because(way)}; leave these settings out, "
                "or use append"
            )
        return
    if people.rows != "together":
        yield (
            "people: a series holds all records of a person in one class, which a withdrawal takes away as a whole; "
            f"leave rows={people.rows!r} out"
        )
    if people.pseudonyms == "published":
        yield (
            "people: pseudonyms of two batches whose classes publish the same would count their people as the same "
            "ones; leave pseudonyms out: the ledger says who is who"
        )
    if policy.columns.person is not None and isinstance(anonymizer, Anonymizer):
        yield from anonymizer_problems(anonymizer, "person", together=True)


def _because(way: str) -> str:
    return f": {WAYS[way].one_each}" if WAYS[way].one_each else ""


def _of_wishes(policy: Policy, way: str) -> Iterator[str]:
    columns = policy.columns
    of_k = bool(columns.wished_k) or any(wish.k for wish in policy.wishes)
    of_l = bool(columns.wished_l) or any(wish.l for wish in policy.wishes)
    if not WAYS[way].people:
        if of_k or of_l:
            yield (
                f"wishes: a series of {way} keeps none{_because(way)}; leave wished-k, wished-l and wishes out, or use "
                "append"
            )
        return
    anonymizer, models = policy.to_anonymizer(), policy.to_models()
    if (of_k or of_l) and isinstance(anonymizer, Anonymizer):
        yield from anonymizer_problems(anonymizer, "wishes", together=True)
    if of_k and not any(isinstance(model, KAnonymity) for model in models):
        yield f"wished k: belongs to {KAnonymity.name}; add that model, if only with k = 1"
    if of_l and not any(isinstance(model, DistinctLDiversity) for model in models):
        yield f"wished l: belongs to {DistinctLDiversity.name}; add that model, if only with l = 1"
    if of_l and any(isinstance(model, ProbabilisticLDiversity) for model in models):
        yield (
            f"wished l: as a share ({ProbabilisticLDiversity.name}) it may hold in two classes and not in both "
            "together. To a reader of the last release, classes of two batches that publish the same are one; take "
            f"{DistinctLDiversity.name} alone"
        )


def stored_policy(policy: Policy, *, several: bool) -> Policy:
    """Return a policy that holds its hierarchies itself.

    Unless people may have several records, records count people, and the column of people is an identifying one.
    """
    schema = policy.to_schema()
    quasi, private = _held(schema.quasi_identifying), _held(schema.sensitive)
    columns = policy_columns(replace(schema, quasi_identifying=quasi, sensitive=private))
    if columns.person is not None and not several:
        identifying = (*columns.key_columns, *columns.identifying)
        columns = columns.model_copy(update={"person": None, "identifying": identifying})
    return policy.model_copy(update={"columns": columns})


def _held(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Take the rows of hierarchies out of their files, which may change."""
    found = dict(attributes)
    for name, attribute in attributes.items():
        if isinstance(attribute.hierarchy, HierarchyTable):
            found[name] = replace(attribute, hierarchy=HierarchyTable(attribute.hierarchy.rows))
    return found


def policy_changes(kept: Policy, given: Policy) -> Iterator[str]:
    """Name every part in which a policy differs from that of a series; how tables are read and written is not compared.

    Raises ``SfumatoError`` when a hierarchy cannot be read.
    """
    several = kept.columns.person is not None
    if given.anonymizer.name == AUTO:
        # It was taken at the start of the series.
        given = given.model_copy(update={"anonymizer": kept.anonymizer})
    before, after = kept.to_mapping(), stored_policy(given, several=several).to_mapping()
    for part in ("models", "anonymizer", "recoding", "refine", "suppression-limit", "people", "wishes"):
        if before.get(part) != after.get(part):
            yield f"policy, {part}: {FROZEN}"
    for role in ("person", "identifying", "quasi-identifying", "sensitive", "insensitive", "others", *WISHED):
        yield from _changed_columns(role, before["columns"].get(role), after["columns"].get(role))


def _changed_columns(role: str, before: Any, after: Any) -> Iterator[str]:
    if before == after:
        return
    names = [name for name in before or () if isinstance(before, Mapping) and isinstance(after, Mapping)]
    if names and names == list(after):
        yield from (f"policy, {role} column {name!r}: {FROZEN}" for name in names if before[name] != after[name])
    else:
        yield f"policy, {role} columns: {FROZEN}"
