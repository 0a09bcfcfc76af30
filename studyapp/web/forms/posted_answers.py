"""Parse the form of a page: answers, counts of changes, errors."""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from foundation.pages.whole_numbers import parse_whole_number
from studyapp.definition.questions.answer_scales import MultipleChoice, NumberScale, RankingScale, TextField
from studyapp.definition.questions.flow import select_visible_questions
from studyapp.definition.questions.question import DECLINED, Answer, Question, list_question_parts

# The fields of a form by name: a text, or the list of all texts of that name.
Sent = Mapping[str, str | list[str]]
_CHANGES_DIGITS = 6


def parse_answers(
    questions: Iterable[Question], data: Sent, earlier: Mapping[str, Answer] | None = None
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Parse one answer per question from the fields of a form.

    Args:
        questions: The questions of the page, each behind the one that it depends on.
        data: The fields that were sent.
        earlier: The answers to earlier pages of the same part.

    Returns:
        The valid answers by key, and the error messages by key. A question left
        open has no answer: it is missing, never False, 0, or an empty text. An
        answer that was declined is missing too, with a sign of its own. An answer to a
        question that earlier answers hide is dropped.
    """
    answers: dict[str, Answer] = {}
    errors: dict[str, str] = {}
    for question in questions:
        given_before = {**(earlier or {}), **answers}
        if not select_visible_questions([question], given_before):
            continue
        sent = data.get(question.key, [])
        texts = [text for text in ([sent] if isinstance(sent, str) else sent) if text.strip()]
        if question.prefer_not_to_say and DECLINED in texts:
            answers[question.declined_key] = True
            continue
        if question.is_composite:
            given, wrong = _read_parts(question, data, given_before)
            answers |= given
            errors |= wrong
            continue
        if not texts:
            if question.required:
                errors[question.key] = _("Please answer this question.")
            continue
        answer = _read(question, texts)
        if answer is None:
            errors[question.key] = _format_complaint(question)
        else:
            answers[question.key] = answer
    return answers, errors


def _read_parts(
    question: Question, data: Sent, given_before: Mapping[str, Answer]
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Return the answers and the errors of a matrix, by row, or of a ranking."""
    if not isinstance(question.scale, RankingScale):
        return parse_answers(question.parts, data, given_before)
    ranks, error = _read_ranking(question, question.scale, data)
    return ranks, {question.key: error} if error else {}


def _read_ranking(question: Question, scale: RankingScale, data: Sent) -> tuple[dict[str, Answer], str]:
    """Return the ranks by part, or none and what is wrong with them."""
    sent = {part.key: _select_last(data.get(part.key, "")).strip() for part in question.parts}
    given = {key: text for key, text in sent.items() if text}
    if not given:
        return {}, _("Please answer this question.") if question.required else ""
    allowed = {str(rank): rank for rank in range(1, scale.ranks + 1)}
    if not set(given.values()) <= allowed.keys():
        return {}, _("Please choose ranks from 1 to %(most)s.") % {"most": scale.ranks}
    if len(set(given.values())) < len(given):
        return {}, _("Please give each rank only once.")
    if len(given) < scale.ranks:
        return {}, _("Please give all ranks from 1 to %(most)s.") % {"most": scale.ranks}
    return {key: allowed[text] for key, text in given.items()}, ""


def _select_last(sent: str | list[str]) -> str:
    return sent if isinstance(sent, str) else sent[-1] if sent else ""


def _read(question: Question, texts: list[str]) -> Answer | None:
    """Return the answer, or None if the question does not allow it."""
    match question.scale:
        case MultipleChoice():
            return sorted(set(texts)) if question.is_valid_answer(texts) else None
        case NumberScale():
            return question.scale.read(texts[-1].strip())
        case TextField():
            # Browsers send line ends as \r\n and count them as one.
            text = texts[-1].replace("\r\n", "\n").strip()
            return text if question.is_valid_answer(text) and "\x00" not in text else None
    return question.values.get(texts[-1])


def _format_complaint(question: Question) -> str:
    match question.scale:
        case NumberScale(min=low, max=high, step=step):
            words = _("Please enter a number from %(low)s to %(high)s, in steps of %(step)s.")
            return words % {"low": f"{low:g}", "high": f"{high:g}", "step": f"{step:g}"}
        case TextField(min_length=least, max_length=most) if least:
            words = _("Please enter at least %(least)s and at most %(most)s characters.")
            return words % {"least": least, "most": most}
        case TextField(max_length=most):
            return _("Please enter at most %(most)s characters.") % {"most": most}
    return _("Please choose one of the given answers.")


def parse_changes(questions: Iterable[Question], data: Sent) -> dict[str, int]:
    """Parse how often each answer was changed; an invalid count is missing."""
    changes = {}
    for question in list_question_parts(questions):
        changed = parse_whole_number(_select_last(data.get(f"changes_{question.key}", "")), _CHANGES_DIGITS)
        if changed is not None:
            changes[question.key] = changed
    return changes
