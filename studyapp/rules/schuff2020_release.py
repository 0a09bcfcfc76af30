"""The released study of 2020 as a study of this site. Pure: no Django.

`analysis.io.schuff2020_release` reads the file; here is what its publication
says of the study.
"""

from typing import Any

from analysis.io.schuff2020_release import CONDITIONS, GROUND_TRUTH, Release
from analysis.participants.exclusion_rules import Answered, DeclaredRule, MaxTime, MinTime
from analysis.reproductions.published import load_paper
from analysis.reproductions.schuff2020_bundle import NOTE, TITLE, read_published_scores
from studyapp.definition.frozen.freezing import (
    FrozenCondition,
    FrozenItem,
    FrozenStudy,
    Shown,
)
from studyapp.definition.frozen.limits import freeze_questions
from studyapp.definition.questions.display import NamedCondition
from studyapp.definition.questions.questionnaires import TEMPLATES

_EXPLAINED = [NamedCondition(name, is_explained=True) for name in CONDITIONS]
RULES: list[DeclaredRule] = [
    MinTime(name="too-fast", kind="min_time", clock="client_total", milliseconds=15_000),
    MaxTime(name="too-slow", kind="max_time", clock="client_total", milliseconds=300_000),
    Answered(name="known-before", kind="answered", question="known_before", value=True),
]
SCORES_SOURCE = "Schuff et al. 2020, Table 2"
SCORES_DATASET = "HotpotQA dev (distractor)"


def build_frozen_study(release: Release) -> FrozenStudy:
    """Define the study as far as it is known; the rest is None or empty."""
    unknown = Shown(answer=None, facts=None)
    return FrozenStudy(
        title=TITLE,
        dataset=None,
        items_seed=None,
        items=[
            FrozenItem(id=item_id, question=None, gold_answer=None, context=None)
            for item_id in release.item_ids
        ],
        conditions=[
            FrozenCondition(
                name=name,
                label=name,
                system=None if name == GROUND_TRUTH else name,
                revision=None,
                ground_truth=name == GROUND_TRUTH,
                weight=1.0,
                shown=dict.fromkeys(release.item_ids, unknown),
            )
            for name in CONDITIONS
        ],
        item_questionnaire=freeze_questions(TEMPLATES["xqa-2020"].item, _EXPLAINED),
        post_survey=freeze_questions(TEMPLATES["xqa-2020"].post_survey, _EXPLAINED),
        consent="",
        instructions="",
        rules=RULES,
        order_seed=None,
        assignment_block=None,
        stale_after_minutes=None,
        redirect_url=None,
    )


def build_published_facts(release: Release) -> dict[str, Any]:
    """Return what the publication says, and the digest of the file."""
    systems = {
        system: {
            "revision": None,
            "n": None,
            "source": SCORES_SOURCE,
            "scores": scores,
            "reasons": {},
        }
        for system, scores in read_published_scores().items()
    }
    return {
        "excluded_percent": load_paper("schuff2020").facts["excluded_percent"],
        "note": NOTE,
        "content_sha256": release.digest,
        "scores": {"dataset": SCORES_DATASET, "systems": systems},
    }
