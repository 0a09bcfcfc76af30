"""Visual bias: labels that image pairs of NLVR2-form data give away.

After Suhr and Artzi 2019. `pairs` measures the data, `systems` scores predictions on the balanced and
unbalanced parts, `examples` reads both from files.
"""

from .pairs import Frequency, VisualBias, analyse
from .systems import Delta, SystemScores, score_system

__all__ = ["Delta", "Frequency", "SystemScores", "VisualBias", "analyse", "score_system"]
