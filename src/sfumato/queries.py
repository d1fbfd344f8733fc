"""Queries that a table, or a release, answers with counts, sums and averages."""

from sfumato.evaluation.utility.answers import query_workload as query_workload
from sfumato.evaluation.utility.measure import answer as answer
from sfumato.evaluation.utility.queries import Among as Among
from sfumato.evaluation.utility.queries import Query as Query
from sfumato.evaluation.utility.queries import Range as Range
from sfumato.evaluation.utility.queries import Workload as Workload
