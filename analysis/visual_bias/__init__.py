"""Visual bias of NLVR2-form data: does an image pair alone give its label away? (Suhr and Artzi 2019)

`pairs` measures the data, `systems` scores predictions on the balanced and unbalanced parts, `examples` reads
both from files, `page` shows them.
"""

from .pairs import Frequency, VisualBias, analyse
from .systems import Delta, SystemScores, score_system

__all__ = ["Delta", "Frequency", "SystemScores", "VisualBias", "analyse", "score_system"]
