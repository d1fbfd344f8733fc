"""Which attributes a method randomizes, and what is wrong with those that were named."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sfumato.errors import PolicyError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import EncodedTable
from sfumato.table.schema import Kind

MEASURED = (Kind.NUMERIC, Kind.DATE)
CATEGORIES = (Kind.CATEGORICAL, Kind.BOOLEAN)
EVERY_KIND = tuple(Kind)

Names = tuple[str, ...]


def fitting_attributes(table: EncodedTable, wanted: Collection[str] | None, kinds: Sequence[Kind]) -> Names:
    """Return the attributes that were named; where none were, every quasi-identifying one of a fitting kind."""
    if wanted is not None:
        return tuple(wanted)
    return tuple(attribute.name for attribute in table.attributes if attribute.kind in kinds)


def attribute_problems(
    what: str, table: EncodedTable, wanted: Collection[str] | None, kinds: Sequence[Kind]
) -> Iterator[str]:
    """Name attributes that the table lacks or whose kind does not fit, and say when there are none."""
    kind_of = {attribute.name: attribute.kind for attribute in (*table.attributes, *table.sensitive)}
    fitting = " or ".join(kinds)
    for name in wanted or ():
        if name not in kind_of:
            yield f"{what}: there is no quasi-identifying or sensitive attribute {name!r}"
        elif kind_of[name] not in kinds:
            yield f"{what}: attribute {name!r} is {kind_of[name]}, and only {fitting} ones can be randomized by it"
    if not fitting_attributes(table, wanted, kinds):
        yield f"{what}: there is no quasi-identifying attribute that is {fitting}; name some, or take another method"


def refuse(what: str, models: Sequence[PrivacyModel], problems: Iterator[str]) -> None:
    """Raise PolicyError with every problem, and with every model: randomization promises none."""
    promised = [f"{model.name}: {what} enforces no privacy model; leave it out" for model in models]
    raise_all(PolicyError, [*promised, *problems])
