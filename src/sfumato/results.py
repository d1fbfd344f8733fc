"""Types of what calls return, for annotations."""

from sfumato.anonymizers.slicing.correlation import Correlation as Correlation
from sfumato.comparison.comparison import Comparison as Comparison
from sfumato.drawing import Drawing as Drawing
from sfumato.evaluation.preview import ClassSizes as ClassSizes
from sfumato.evaluation.utility.describe import Descriptives as Descriptives
from sfumato.evidence.release_report import ReleaseReport as ReleaseReport
from sfumato.findings.review import Review as Review
from sfumato.papers.reproduction import Reproduction as Reproduction
from sfumato.release.on_disk import ReleaseOnDisk as ReleaseOnDisk
from sfumato.release.recipient import Figure as Figure
from sfumato.release.recipient import OpenRelease as OpenRelease
from sfumato.series.verify import SeriesVerification as SeriesVerification
from sfumato.table.raw_table import RawTable as RawTable
