"""What a run is asked to do, checked before any work: settings, models and forms against the table's columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress
from sfumato.errors import PolicyError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.recoding import Recoding, form_problems
from sfumato.running import thread_count
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


def problem_of(
    encoded: EncodedTable,
    models: Sequence[PrivacyModel],
    anonymizer: Anonymizer,
    recoding: Recoding,
    *,
    suppression_limit: float,
    seed: int | None,
    threads: int | None,
    progress: Progress,
) -> Problem:
    """Return the problem that an anonymizer is handed.

    Parameters
    ----------
    suppression_limit
        Fraction of the records, 0 to 1.
    threads
        As :func:`sfumato.running.thread_count` takes it.

    Raises
    ------
    PolicyError
        With every model and form that the columns do not fit.
    """
    raise_all(PolicyError, _misfits(encoded, models, recoding, anonymizer))
    # A fraction such as 0.1 is not exact, and must not cost a record.
    limit = math.floor(suppression_limit * encoded.height + 1e-9)
    return Problem(encoded, models, limit, seed, thread_count(threads), progress)


def check_settings(
    table: Table,
    models: PrivacyModel | Sequence[PrivacyModel],
    anonymizer: Anonymizer,
    recoding: Recoding,
    suppression_limit: float,
    seed: int | None,
    refine: int = 0,
) -> tuple[PrivacyModel, ...]:
    """Return the models as a tuple, or raise PolicyError with every mistake at once."""
    given = tuple(models) if isinstance(models, Sequence) else (models,)
    problems = []
    if not isinstance(table, Table):
        problems.append("table: is no Table; read it with sfumato.read_table")
    if isinstance(anonymizer, type) or not isinstance(anonymizer, Anonymizer):
        problems.append("anonymizer: is not an anonymizer; give one such as Mondrian()")
    if not isinstance(recoding, Recoding):
        problems.append("recoding: is not a Recoding; give one such as Recoding(numeric='mean')")
    if not given:
        problems.append("models: name at least one privacy model, e.g. KAnonymity(5)")
    problems.extend(
        f"models[{place}]: is not a privacy model" for place, model in enumerate(given) if not _is_model(model)
    )
    if not (isinstance(suppression_limit, (int, float)) and 0 <= suppression_limit <= 1):
        problems.append("suppression_limit: must be a fraction from 0 to 1")
    if not isinstance(refine, int) or isinstance(refine, bool) or refine < 0:
        problems.append("refine: must be a whole number, 0 or above")
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        problems.append("seed: must be a whole number, 0 or above, or None")
    raise_all(PolicyError, problems)
    return given


def _misfits(
    encoded: EncodedTable, models: Sequence[PrivacyModel], recoding: Recoding, anonymizer: Anonymizer
) -> list[str]:
    """Find the models and forms that the columns do not fit, before any work is done."""
    names = [attribute.name for attribute in encoded.sensitive]
    checks: list[Callable[[], object]] = [partial(model.rules, names) for model in models]
    checks.append(partial(recoding.forms_of, encoded.attributes))
    problems: list[str] = []
    for check in checks:
        try:
            check()
        except PolicyError as error:
            problems.extend(error.problems)
    if anonymizer.decides_regions and not problems:
        problems.extend(form_problems(encoded.attributes, recoding.forms_of(encoded.attributes)))
    return problems


def _is_model(model: object) -> bool:
    return isinstance(model, PrivacyModel) and not isinstance(model, type)
