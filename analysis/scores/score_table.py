"""Table of model scores: key, name, desired direction, group.

The keys are those of scores.json. All scores are fractions; those of erasure,
differences of two probabilities, lie in [-1, 1].

References:
    1. Schuff et al. (2020), section 4, table 2 and appendix H.
    2. DeYoung et al. (2020), section 4: high comprehensiveness and low sufficiency
       speak for the explanation.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Score:
    """Model score.

    headline: a column of the report's tables; all scores are in its files.
    """

    key: str
    label: str
    wanted: Literal["higher", "lower"] | None
    group: str
    headline: bool = True


SCORES: tuple[Score, ...] = (
    Score("em", "Answer EM", "higher", "Answer"),
    Score("f1", "Answer F1", "higher", "Answer"),
    Score("prec", "Answer P", "higher", "Answer"),
    Score("recall", "Answer R", "higher", "Answer"),
    Score("sp_em", "SP EM", "higher", "Supporting facts"),
    Score("sp_f1", "SP F1", "higher", "Supporting facts"),
    Score("sp_prec", "SP P", "higher", "Supporting facts"),
    Score("sp_recall", "SP R", "higher", "Supporting facts"),
    Score("joint_em", "Joint EM", "higher", "Joint"),
    Score("joint_f1", "Joint F1", "higher", "Joint"),
    Score("joint_prec", "Joint P", "higher", "Joint"),
    Score("joint_recall", "Joint R", "higher", "Joint"),
    Score("c_rel_1", "c_rel(1)", "higher", "Answer changes", headline=False),
    Score("c_rel_2", "c_rel(2)", "higher", "Answer changes", headline=False),
    Score("c_rel_3", "c_rel(3)", "higher", "Answer changes", headline=False),
    Score("c_rel_4", "c_rel(4)", "higher", "Answer changes"),
    Score("c_irr_1", "c_irr(1)", "lower", "Answer changes", headline=False),
    Score("c_irr_2", "c_irr(2)", "lower", "Answer changes", headline=False),
    Score("c_irr_3", "c_irr(3)", "lower", "Answer changes", headline=False),
    Score("c_irr_4", "c_irr(4)", "lower", "Answer changes"),
    Score("farm_1", "FaRM(1)", "higher", "FaRM"),
    Score("farm_2", "FaRM(2)", "higher", "FaRM", headline=False),
    Score("farm_3", "FaRM(3)", "higher", "FaRM", headline=False),
    Score("farm_4", "FaRM(4)", "higher", "FaRM"),
    Score("loca_inside", "I", "higher", "Answer location"),
    Score("loca_outside", "O", "lower", "Answer location"),
    Score("loca", "LocA", "higher", "Answer location"),
    Score("comprehensiveness", "Comprehensiveness", "higher", "Erasure"),
    Score("sufficiency", "Sufficiency", "lower", "Erasure"),
    Score("comprehensiveness_aopc", "Comprehensiveness (AOPC)", "higher", "Erasure"),
    Score("sufficiency_aopc", "Sufficiency (AOPC)", "lower", "Erasure"),
)
STANDARD_GROUPS = ("Answer", "Supporting facts", "Joint")


def find_score(name: str) -> Score | None:
    """Find a score by key or label, ignoring case; None without one."""
    wanted = name.strip().lower()
    return next((score for score in SCORES if wanted in (score.key, score.label.lower())), None)
