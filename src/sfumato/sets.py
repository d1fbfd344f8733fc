"""Sets of items that people have: reading, checking, publishing and attacking them."""

from sfumato.kinds.sets.attack import SetAttack as SetAttack
from sfumato.kinds.sets.attack import attack_sets as attack_sets
from sfumato.kinds.sets.check import SetCheck as SetCheck
from sfumato.kinds.sets.check import check_sets as check_sets
from sfumato.kinds.sets.make import SetLoss as SetLoss
from sfumato.kinds.sets.make import anonymize_sets as anonymize_sets
from sfumato.kinds.sets.policy import SetPolicy as SetPolicy
from sfumato.kinds.sets.release import SetRelease as SetRelease
from sfumato.kinds.sets.release import save_sets as save_sets
from sfumato.kinds.sets.sets import Sets as Sets
from sfumato.kinds.sets.sets import read_sets as read_sets
from sfumato.models.of_kinds import KmAnonymity as KmAnonymity
