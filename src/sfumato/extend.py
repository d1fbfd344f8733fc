"""What models, anonymizers and metrics of one's own are written with; see docs/how-to/extend.md.

These are the addresses that a plug-in imports from; what lies behind them may move.
"""

from sfumato.anonymizers.feasibility import Problem as Problem
from sfumato.anonymizers.protocol import Anonymizer as Anonymizer
from sfumato.anonymizers.protocol import Publisher as Publisher
from sfumato.classes.partition import Partition as Partition
from sfumato.kernels.predicates import K_ANONYMITY as K_ANONYMITY
from sfumato.models.protocol import Achieved as Achieved
from sfumato.models.protocol import PrivacyModel as PrivacyModel
from sfumato.models.protocol import Rule as Rule
from sfumato.models.protocol import Says as Says
from sfumato.policy.policy import register as register
