"""Frozen questions and correct answers that simulated participants know.

Bots look an answer up by the question and the answer that they are shown, as a person would judge it.
"""

from collections.abc import Sequence

from foundation.errors import NotFound
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.task_designs.blocks import list_blocks_by_position
from studyapp.definition.task_designs.comparing import list_comparison_questions
from studyapp.definition.task_designs.task_questions import (
    YES_NO,
    list_check_questions,
    select_page_questions,
)
from studyapp.definition.tasks import Advice, Predicting, Simulation
from studyapp.link_tokens import read_participant
from studyapp.models import EntryLink, Stage, StageResponse, Stimulus, Study, SurveyResponse, Trial
from studyapp.queries.question_pages import list_part_questions, list_stages
from studyapp.queries.studies import (
    find_current_page,
    find_latest_version,
    load_frozen_study,
    name_trial_conditions,
)
from studyapp.simulation.pages import normalise_spaces
from studyapp.simulation.study_plan import StudyPlan


def build_study_plan(study: Study) -> StudyPlan:
    """Return the plan of the newest version.

    Raises:
        NotFound: the study was never launched.
    """
    version = find_latest_version(study)
    if version is None:
        raise NotFound(
            f"study {study.slug!r} was never launched; run launch_study first, or rehearse the draft with "
            "--rehearse"
        )
    content = load_frozen_study(version)
    rows = Stimulus.objects.filter(condition__version=version).values_list(
        "item__text", "shown_answer", "system_correct"
    )
    knowledge: dict[tuple[str, str], bool | None] = {}
    for text, answer, correct in rows:
        key = (normalise_spaces(text or ""), answer or "")
        knowledge[key] = correct if knowledge.get(key, correct) == correct else None
    return StudyPlan(
        items=len(content.practice) + content.pages,
        item_questions=content.item_questionnaire,
        post_survey=content.post_survey,
        knowledge=knowledge,
        stages=_list_stage_questions(content),
        heeded=_list_passing_answers(content),
        gold=_read_gold_answers(content),
        predictions=_find_right_predictions(content),
        blocks=_list_blocks(content),
        task=content.task,
        compared=list_comparison_questions(content.task),
        own_check_questions=[
            *list_check_questions(content.task),
            *select_page_questions(content.task, "", content.item_questionnaire),
        ],
    )


def _read_gold_answers(content: FrozenStudy) -> dict[str, str]:
    """Return the right answers by question, if participants answer themselves."""
    items = [*content.practice, *content.items] if isinstance(content.task, Advice) else []
    return {normalise_spaces(item.question or ""): item.gold_answer or "" for item in items}


def _find_right_predictions(content: FrozenStudy) -> dict[tuple[str, str], dict[frozenset[str], str]]:
    """Return the right predictions by what a page shows, or by condition.

    Two systems that a page does not tell apart differ in their options, or a bot knows the first.
    """
    expected: dict[tuple[str, str], dict[frozenset[str], str]] = {}
    if not isinstance(content.task, Predicting):
        return expected
    for item in (*content.practice, *content.items):
        for condition in content.conditions:
            shown = condition.shown[item.id]
            answer, is_correct = shown.outcome
            if content.task.ask == "answer":
                options, right = frozenset(shown.options), answer or ""
            else:
                options, right = frozenset(YES_NO), YES_NO[not is_correct]
            seen = condition.name if isinstance(content.task, Simulation) else shown.answer or ""
            expected.setdefault((normalise_spaces(item.question or ""), seen), {}).setdefault(options, right)
    return expected


def _list_blocks(content: FrozenStudy) -> list[str]:
    """Return the block of each page with an item; empty without blocks."""
    if not isinstance(content.task, Simulation):
        return []
    attention = [row.position for row in content.attention]
    return list_blocks_by_position(content.task.blocks, len(content.practice), attention)


def _list_stage_questions(content: FrozenStudy) -> dict[str, Sequence[Question]]:
    """Return the questions of the pages before the items, in order."""
    return {stage.value: list_part_questions(content, stage) for stage in list_stages(content)[:-1]}


def _list_passing_answers(content: FrozenStudy) -> dict[str, dict[str, Answer]]:
    """Return the answers that pass each check."""
    comprehension = content.comprehension.questions if content.comprehension else []
    return {
        Stage.SCREENING.value: {
            question.key: passing
            for question in content.screening
            if (passing := question.passing) is not None
        },
        Stage.COMPREHENSION.value: {question.key: question.correct for question in comprehension},
        **{normalise_spaces(row.text): row.expected for row in content.attention},
    }


def find_public_id(cookie: str) -> str:
    """Return the pseudonym of the participant whom a cookie names."""
    participant = read_participant(cookie)
    if participant is None:
        raise NotFound("the site gave a bot the cookie of a participant whom this database does not know")
    return participant.public_id


def list_shown_conditions(cookie: str) -> tuple[str, ...]:
    """Return the names of the conditions now shown: none, one, or two.

    The cookie names the participant. In a within-subject or mixed design they are those of the item on the
    page.
    """
    participant = read_participant(cookie)
    if participant is None:
        raise NotFound("the site gave a bot the cookie of a participant whom this database does not know")
    if participant.condition is not None:
        return (participant.condition.name,)
    trial = find_current_page(participant).trial
    return () if trial is None else name_trial_conditions(trial)


def count_stored_rows(link: EntryLink) -> dict[str, int]:
    """Count the participants of a link and their stored pages and endings."""
    participants = link.participants.all()
    return {
        "participants": participants.count(),
        "stages": StageResponse.objects.filter(participant__link=link, answers__isnull=False).count(),
        "items": Trial.objects.filter(participant__link=link, answers__isnull=False).count(),
        "surveys": SurveyResponse.objects.filter(participant__link=link, answers__isnull=False).count(),
        "completed": participants.filter(status="completed").count(),
        "ended": participants.filter(status="ended").count(),
    }
