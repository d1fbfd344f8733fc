"""Publishers that change values by chance, or coarsen them one by one, without classes."""

from sfumato.anonymizers.randomization.noise import Noise as Noise
from sfumato.anonymizers.randomization.pram import PRAM as PRAM
from sfumato.anonymizers.randomization.rounding import Rounding as Rounding
from sfumato.anonymizers.randomization.rounding import TopBottomCoding as TopBottomCoding
from sfumato.anonymizers.randomization.sampling import Sampling as Sampling
from sfumato.anonymizers.randomization.shuffling import Shuffling as Shuffling
from sfumato.anonymizers.randomization.swapping import RankSwapping as RankSwapping
from sfumato.anonymizers.randomization.swapping import Swapping as Swapping
