"""Reads what the form of a page sent: one answer per question, how often each was changed, what is wrong."""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from studyapp.definition.questionnaires import Answer, MultipleChoice, NumberScale, Question, TextField

# What was sent by name: a text, or the list of all texts sent under that name.
Sent = Mapping[str, str | list[str]]


def parse_answers(questions: Iterable[Question], data: Sent) -> tuple[dict[str, Answer], dict[str, str]]:
    """Read one answer per question from what a form sent, the values of a name as text or list.

    Returns the answers by key and, by key, a sentence for a person about each answer that cannot be taken.
    A question left open has no answer: it is missing, never False or 0, nor an empty list or text.
    """
    answers: dict[str, Answer] = {}
    errors: dict[str, str] = {}
    for question in questions:
        sent = data.get(question.key, [])
        texts = [text for text in ([sent] if isinstance(sent, str) else sent) if text.strip()]
        if not texts:
            if question.required:
                errors[question.key] = _("Please answer this question.")
            continue
        answer = _read(question, texts)
        if answer is None:
            errors[question.key] = _complaint(question)
        else:
            answers[question.key] = answer
    return answers, errors


def _read(question: Question, texts: list[str]) -> Answer | None:
    """The answer that was sent, None where the question cannot have it."""
    match question.scale:
        case MultipleChoice():
            return sorted(set(texts)) if question.takes(texts) else None
        case NumberScale():
            return question.scale.read(texts[-1].strip())
        case TextField():
            # Browsers send line ends as \r\n and count them as one.
            text = texts[-1].replace("\r\n", "\n").strip()
            return text if question.takes(text) and "\x00" not in text else None
    return question.values.get(texts[-1])


def _complaint(question: Question) -> str:
    match question.scale:
        case NumberScale(min=low, max=high, step=step):
            words = _("Please write a number from %(low)s to %(high)s, in steps of %(step)s.")
            return words % {"low": f"{low:g}", "high": f"{high:g}", "step": f"{step:g}"}
        case TextField(max_length=most):
            return _("Please write at most %(most)s characters.") % {"most": most}
    return _("Please choose one of the answers offered.")


def parse_changes(questions: Iterable[Question], data: Sent) -> dict[str, int]:
    """Read how often each choice was changed. What is not a count is missing; it is never 0."""
    changes = {}
    for question in questions:
        found = data.get(f"changes_{question.key}", "")
        sent = found if isinstance(found, str) else found[-1]
        if sent.isascii() and sent.isdigit() and len(sent) <= 6:
            changes[question.key] = int(sent)
    return changes
