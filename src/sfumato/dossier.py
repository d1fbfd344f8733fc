"""The address of the last version of :mod:`sfumato.evidence`, for this version."""

import sys

from sfumato.evidence import content, release_report, subgroups

sys.modules |= {
    f"{__name__}.{module.__name__.rpartition('.')[2]}": module for module in (content, release_report, subgroups)
}
