"""The classes of a table, and who is counted in them.

Letters: n records, c classes.
"""

from __future__ import annotations

import numpy as np

from sfumato.classes.people import counted_people
from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.evaluation.checking.inputs import private_part
from sfumato.evaluation.risk.keys import Keys, keys_of
from sfumato.progress import thread_count
from sfumato.table.encoding import encode
from sfumato.table.table import Table


def classes_of(table: Table) -> Keys:
    """Group records of equal quasi-identifying values; a missing value is one of its own, and so is ``*``."""
    return keys_of([table.frame.get_column(name) for name in table.schema.quasi_identifying], thread_count(None))


def counted(table: Table, classes: Keys) -> ClassStatistics:
    """Count the records of each class and those that have each sensitive value; people, where the table names them.

    Every figure of a check but the record counts follows from what this returns.
    """
    encoded = encode(private_part(table), order="name") if table.schema.sensitive else None
    codes = np.empty((classes.height, 0), dtype=np.uint8) if encoded is None else encoded.codes
    attributes = () if encoded is None else encoded.attributes
    if table.people is None:
        return class_statistics(classes.class_of, classes.count, codes, attributes)
    return counted_people(classes.class_of, classes.count, table.people, codes, attributes)
