"""Publishers that change values by chance, or coarsen them one by one, without classes."""

from sfumato.anonymizers.randomization.numbers import Noise as Noise
from sfumato.anonymizers.randomization.numbers import Rounding as Rounding
from sfumato.anonymizers.randomization.numbers import TopBottomCoding as TopBottomCoding
from sfumato.anonymizers.randomization.records import PRAM as PRAM
from sfumato.anonymizers.randomization.records import RankSwapping as RankSwapping
from sfumato.anonymizers.randomization.records import Sampling as Sampling
from sfumato.anonymizers.randomization.records import Shuffling as Shuffling
from sfumato.anonymizers.randomization.records import Swapping as Swapping
