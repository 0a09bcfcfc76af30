"""The answers of a bot to the questions of a page. No Django.

A bot fills the fields of the page that it was served; a missing field is an error.
"""

from collections.abc import Sequence

from foundation.simulated_people import BotError
from studyapp.definition.participation.suspicion_flags import HONEYPOT_FIELD
from studyapp.definition.questions.flow import select_visible_questions
from studyapp.definition.questions.question import Answer, Question, list_question_parts
from studyapp.simulation.behaviours import (
    answer_freely,
    choose,
    draw_times,
    encode_answer,
    parse_sent_value,
    rank,
)
from studyapp.simulation.bots import Bot
from studyapp.simulation.page_requests import Form
from studyapp.simulation.pages import Page
from studyapp.simulation.planted_effects import TIME
from studyapp.simulation.study_plan import Wanted


def answer(question: Question, bot: Bot, right: bool | None, wanted: Wanted) -> str | list[str]:
    """Return a bot's form value; ``wanted`` has the answers a check needs."""
    if question.key in wanted and bot.rng.random() < bot.behaviour.heeds:
        return encode_answer(question, wanted[question.key])
    if question.kind in ("yes_no", "likert", "slider"):
        effect = bot.effect.get(question.role or question.key, 0.0) + bot.tilt
        return choose(question, bot.behaviour, right, bot.rng, effect)
    return answer_freely(question, bot.behaviour, bot.rng)


def fill(
    page: Page, questions: Sequence[Question], bot: Bot, right: bool | None, wanted: Wanted | None = None
) -> Form:
    """Return the form of a timed page with an answer to every question.

    Raises BotError when the page lacks a field, a question or a choice that the frozen study has.
    """
    chosen = _choose_form_values(page, questions, bot, right, wanted or {})
    free = [question for question in questions if question.kind in ("number", "slider", "ranking", "text")]
    written = {part.key for part in list_question_parts(free)}
    for key, value in chosen.items():
        for choice in value if isinstance(value, list) else [value]:
            if key not in page.choices or (key not in written and choice not in page.choices[key]):
                raise BotError(f"{page} lacks the choice {choice!r} of the question {key!r}")
    asked = {part.key for part in list_question_parts(questions)}
    unknown = sorted(page.choices.keys() - asked - {HONEYPOT_FIELD})  # which stays empty
    if unknown:
        raise BotError(f"{page} asks {unknown[0]!r}, which is not a question of the study")
    changes = {f"changes_{key}": str(int(bot.rng.random() < 0.1)) for key in chosen}
    script = {**draw_times(bot.behaviour, bot.rng, bot.effect.get(TIME, 1.0)), **changes}
    for name in ("csrfmiddlewaretoken", "page_key", *script):
        if name not in page.fields:
            raise BotError(f"{page} lacks the field {name!r}")
    return {**page.fields, **script, **chosen}


def _choose_form_values(
    page: Page, questions: Sequence[Question], bot: Bot, right: bool | None, wanted: Wanted
) -> Form:
    """Return the form values for the questions that the page asks.

    Only a question for some conditions, one that depends on an answer, or one of another page may be absent.
    Questions that an answer on this page hides stay empty.
    """
    has_pages = any(question.page_break for question in questions)
    chosen: Form = {}
    answers: dict[str, Answer] = {}
    for question in questions:
        is_absent = question.parts[0].key not in page.choices
        if is_absent and (question.only is not None or question.show_if or has_pages):
            continue
        depends_here = question.show_if is not None and question.show_if.question in page.choices
        if depends_here and not select_visible_questions([question], answers):
            continue
        sent = (
            Form(rank(question, bot.behaviour, bot.rng, bot.effect))
            if question.kind == "ranking"
            else {part.key: answer(part, bot, right, wanted) for part in question.parts}
        )
        chosen |= sent
        answers |= {
            part.key: parse_sent_value(part, sent[part.key]) for part in question.parts if part.key in sent
        }
    return chosen
