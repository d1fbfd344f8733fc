"""Whether models and forms of a task fit the columns of its table, and the problem that an anonymizer is handed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.generalized import Form
from sfumato.errors import PolicyError, raise_all
from sfumato.recoding import Recoding, form_problems
from sfumato.release.folding import folding_problems
from sfumato.release.households import household_problems
from sfumato.release.pseudonyms import pseudonym_problems
from sfumato.release.task import Task
from sfumato.table.encoding import EncodedAttribute, EncodedTable


def problem_of(task: Task, anonymizer: Anonymizer, encoded: EncodedTable) -> Problem:
    """Return the problem of generalizing a table.

    Raises
    ------
    PolicyError
        With every model and form that the columns do not fit.
    """
    problems = [*folding_problems(task), *pseudonym_problems(task), *_misfits(task, anonymizer, encoded)]
    if task.people.rows == "household" and task.table.people is not None:
        problems += household_problems(task)
    raise_all(PolicyError, problems)
    return task.problem(encoded)


def problems_in(*checks: Callable[[], object]) -> list[str]:
    """Run every check, and return the problems of all that complain."""
    problems: list[str] = []
    for check in checks:
        try:
            check()
        except PolicyError as error:
            problems.extend(error.problems)
    return problems


def _misfits(task: Task, anonymizer: Anonymizer, encoded: EncodedTable) -> list[str]:
    names = [attribute.name for attribute in encoded.sensitive]
    problems = problems_in(
        *(partial(model.rules, names) for model in task.problem(encoded).models),
        partial(task.recoding.forms_of, encoded.attributes),
    )
    if encoded.population is not None and not problems:
        forms = task.recoding.forms_of(encoded.attributes)
        problems.extend(
            f"recoding: column {attribute.name!r} is published as class means, which do not show whom they cover; "
            "choose ranges or leave out what is promised about a population"
            for attribute, form in zip(encoded.attributes, forms, strict=True)
            if form is Form.MEAN
        )
    if task.policy.refine and getattr(anonymizer, "strata", None):
        problems.append("refine: moves records between classes, whatever their stratum; leave refine or strata out")
    if not problems:
        problems.extend(recoding_problems(anonymizer, task.recoding, encoded.attributes))
    return problems


def recoding_problems(anonymizer: Anonymizer, recoding: Recoding, attributes: Sequence[EncodedAttribute]) -> list[str]:
    """Find what has no effect, and forms that contradict an anonymizer which decides itself what is published."""
    forms = recoding.forms_of(attributes)
    problems = []
    if recoding.average is not None and Form.MEAN not in (recoding.numeric, *recoding.forms.values()):
        problems.append(
            f"recoding: average = {recoding.average!r} means nothing where no column is published as the mean of its "
            "class; set numeric = 'mean', or leave it out"
        )
    if anonymizer.decides_regions:
        problems += form_problems(attributes, forms, aggregates=getattr(anonymizer, "aggregates", False))
    return problems


def mean_notes(anonymizer: Anonymizer, recoding: Recoding, attributes: Sequence[EncodedAttribute]) -> Iterator[str]:
    """Say which columns have means where the solution decided otherwise."""
    if anonymizer.decides_regions:
        for attribute, form in zip(attributes, recoding.forms_of(attributes), strict=True):
            if form is Form.MEAN:
                which = (recoding.average or "mean").replace("-", " ")
                yield f"Column {attribute.name!r}: where it is on the level *, the {which} of each class is published."
