"""Sets of items that people have: reading, checking, publishing and attacking them."""

from sfumato.anonymizers.sets.loss import SetLoss as SetLoss
from sfumato.evaluation.attacks.sets import SetAttack as SetAttack
from sfumato.evaluation.attacks.sets import attack_sets as attack_sets
from sfumato.models.km_anonymity import KmAnonymity as KmAnonymity
from sfumato.policy.set_policy import SetPolicy as SetPolicy
from sfumato.published.checks.sets.check import SetCheck as SetCheck
from sfumato.published.checks.sets.check import check_sets as check_sets
from sfumato.release.sets.anonymize import anonymize_sets as anonymize_sets
from sfumato.release.sets.folder import save_sets as save_sets
from sfumato.release.sets.release import SetRelease as SetRelease
from sfumato.table.sets.reading import read_sets as read_sets
from sfumato.table.sets.sets import Sets as Sets
