"""What columns look like that identify people: by their names, by the pattern of their values, by how many they have.

It looks at distinct values alone, tells of no value, and decides nothing: :mod:`sfumato.release.passing` does.
"""

from __future__ import annotations

from sfumato.table.identification.looks import Look as Look
from sfumato.table.identification.looks import hint as hint
from sfumato.table.identification.looks import look_at as look_at
from sfumato.table.identification.looks import look_of as look_of
from sfumato.table.identification.names import sort_by_name as sort_by_name
from sfumato.table.identification.patterns import sort_by_values as sort_by_values
from sfumato.table.identification.sorts import Sort as Sort
