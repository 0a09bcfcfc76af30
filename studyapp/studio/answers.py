"""Form fields that name answers: of checks and of exclusion rules.

Pure.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from studyapp.definition.analysis_plan import list_question_measures
from studyapp.definition.checks import ComprehensionQuestion, ScreeningQuestion
from studyapp.definition.conditions import ConditionDefinition
from studyapp.definition.questions.display import is_same
from studyapp.definition.questions.question import Question
from studyapp.definition.questions.questionnaires import Questionnaire, find_template
from studyapp.definition.questions.scale_scores import ScaleKey
from studyapp.definition.task_designs.task_questions import list_check_questions
from studyapp.definition.tasks import expand_task
from studyapp.studio.drafts import Draft, parse_task
from studyapp.studio.widgets import Widget, format_value


def parse_questions(rows: Any) -> list[Question]:
    """Return those of a list that are questions already."""
    questions = []
    for row in rows if isinstance(rows, list) else []:
        try:
            questions.append(Question.model_validate({**row, "text": row.get("text") or "…"}))
        except (ValidationError, TypeError):
            continue
    return questions


def _list_item_questions(draft: Draft) -> list[Question]:
    """Return the valid questions beside the items."""
    asked = draft.get("questionnaire")
    return parse_questions(asked.get("item") if isinstance(asked, dict) else None)


def _mark_absent(widget: Widget) -> Widget:
    widget.kind = "absent"
    return widget


def accept(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return the answers that let pass, as the question's own choices."""
    question = _read_row_question(draft, widget, ScreeningQuestion)
    if question is None or question.kind == "text":
        return _mark_absent(widget)
    if question.kind == "number":
        bounds = value if isinstance(value, dict) else {}
        widget.kind, widget.is_dropped_empty = "group", True
        widget.hint = "Leave both empty to accept every number."
        widget.children = _build_bounds(widget, bounds)
        return widget
    return _fill_answers(widget, question, value)


def _build_bounds(widget: Widget, given: Mapping[str, Any]) -> list[Widget]:
    return [
        Widget("number", (*widget.location, name), label, value=format_value(given.get(name)))
        for name, label in (("at_least", "At least"), ("at_most", "At most"))
    ]


def fill_quotas(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return a number of participants for each answer."""
    question = _read_row_question(draft, widget, ScreeningQuestion)
    if question is None or question.kind not in ("yes_no", "likert", "single"):
        return _mark_absent(widget)
    given = value if isinstance(value, dict) else {}
    widget.kind, widget.is_dropped_empty = "group", True
    widget.children = [
        Widget("number", (*widget.location, sent), label, value=format_value(given.get(sent)))
        for sent, label in question.choices
    ]
    return widget


def build_correct_field(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return the field of the correct answer to a comprehension question."""
    question = _read_row_question(draft, widget, ComprehensionQuestion)
    if question is None or question.kind in ("number", "text"):
        widget.value = format_value(value)
        widget.kind = "number" if question is not None and question.kind == "number" else "text"
        return widget
    if question.kind == "multiple":
        return _fill_answers(widget, question, value)
    return _fill_answer(widget, question, value)


def build_expected_field(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return a choice for each question beside the items."""
    wanted = value if isinstance(value, dict) else {}
    widget.kind = "group"
    task = parse_task(draft)
    for question in [*(list_check_questions(task) if task else []), *_list_item_questions(draft)]:
        named = Widget("text", (*widget.location, question.key), question.text)
        named.value = format_value(wanted.get(question.key))
        if question.kind == "multiple":
            widget.children.append(_fill_answers(named, question, wanted.get(question.key)))
        elif question.choices:
            widget.children.append(_fill_answer(named, question, wanted.get(question.key)))
        elif question.kind == "number":
            named.kind = "number"
            widget.children.append(named)
    return widget


def fill_rule_question(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return the field of the question that a rule reads.

    It has the answer that excludes, or a question answered by a number.
    """
    row = draft["exclusions"][widget.location[1]]
    return (
        _fill_number_question(draft, widget, value)
        if row.get("kind") == "answered_number"
        else _fill_rule_choice(draft, widget, value)
    )


def list_condition_names(draft: Draft) -> list[str]:
    """Return the names of the conditions, as far as they are some already."""
    names = []
    for row in draft.get("conditions") or ():
        try:
            names.append(ConditionDefinition.model_validate(row).name)
        except ValidationError:
            continue
    return names


def measure_labels(draft: Draft) -> dict[str, str]:
    """Return the labels of measures by key, none while a question is invalid."""
    asked = draft.get("questionnaire", "xqa-2020")
    try:
        questionnaire = (
            find_template(asked) if isinstance(asked, str) else Questionnaire.model_validate(asked)
        )
        own = [ScaleKey.model_validate(row) for row in draft.get("scales") or ()]
        task = parse_task(draft)
        written = task.model_dump() if task else expand_task(draft.get("task"))
        return {measure.key: measure.label for measure in list_question_measures(questionnaire, own, written)}
    except ValueError:
        return {}


def fill_show_if(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return the earlier question that one depends on, and its answers.

    The answers to choose from are those of the question as it was saved.
    """
    *list_location, index, _name = widget.location
    rows: Any = draft
    for part in list_location:
        rows = rows[part]
    earlier = {question.key: question for question in parse_questions(_simplify_questions(rows[:index]))}
    written = value if isinstance(value, dict) else {}
    chosen = str(written.get("question") or "")
    named = Widget("select", (*widget.location, "question"), "Earlier question", value=chosen)
    texts = {chosen: chosen} if chosen else {}
    texts |= {key: f"{key}: {question.text}" for key, question in earlier.items()}
    named.options = [("", "–"), *texts.items()]
    widget.kind, widget.is_dropped_empty, widget.children = "group", True, [named]
    question = earlier.get(chosen)
    if question is not None and question.choices:
        answers = Widget("answers", (*widget.location, "is"), "Answers")
        given = written.get("is")
        widget.children.append(
            _fill_answers(answers, question, given if isinstance(given, list) else [given])
        )
    if (question is not None and not question.choices) or written.keys() & {"at_least", "at_most"}:
        widget.children += _build_bounds(widget, written)
    return widget


def _simplify_questions(rows: Any) -> list[Any]:
    """Return questions of a draft without what depends on other questions."""
    return [
        {name: row[name] for name in ("key", "text", "scale") if name in row}
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]


def _fill_number_question(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return the field of a question that is answered by a number.

    A chosen question that is gone stays in the list.
    """
    chosen = "" if value is None else str(value)
    options = {
        question.key: f"{question.key}: {question.text}"
        for question in _list_item_questions(draft)
        if question.kind == "number"
    }
    widget.kind, widget.value, widget.label = "select", chosen, "Question (number)"
    widget.options = [("", "–"), *({chosen: chosen} | options if chosen else options).items()]
    return widget


def _fill_rule_choice(draft: Draft, widget: Widget, value: Any) -> Widget:
    """Return a question beside the items, and the answer to it that excludes."""
    row = draft["exclusions"][widget.location[1]]
    asked = [
        question
        for question in _list_item_questions(draft)
        if question.kind in ("yes_no", "likert", "single")
    ]
    answers = {
        f"{question.key}={sent}": (stored, f"{question.key}: {dict(question.choices)[sent]}")
        for question in asked
        for sent, stored in question.values.items()
    }
    chosen = next(
        (
            code
            for code, (stored, _label) in answers.items()
            if code.startswith(f"{value}=") and is_same(stored, row.get("value"))
        ),
        "",
    )
    if value and not chosen:  # one that only a file can say, or of a question that is gone
        chosen = f"{value}={row.get('value')}"
        answers[chosen] = (row.get("value"), f"{value}: {row.get('value')}")
    widget.kind, widget.value = "pick", chosen
    widget.options = [("", "–"), *((code, label) for code, (_stored, label) in answers.items())]
    widget.answers = {code: stored for code, (stored, _label) in answers.items()}
    return widget


def _fill_answers(widget: Widget, question: Question, value: Any) -> Widget:
    """Let people choose any number of the question's choices."""
    chosen = value if isinstance(value, list) else []
    widget.kind, widget.options, widget.answers = "answers", list(question.choices), question.values
    widget.value = [
        sent for sent, stored in question.values.items() if any(is_same(stored, answer) for answer in chosen)
    ]
    return widget


def _read_row_question(draft: Draft, widget: Widget, kind: type[Question]) -> Question | None:
    """Return the question that a field belongs to, without its check."""
    row: Any = draft
    for part in widget.location[:-1]:
        row = row[part]
    plain = {name: row[name] for name in Question.model_fields if row.get(name) is not None}
    return next(iter(parse_questions([plain])), None)


def _fill_answer(widget: Widget, question: Question, value: Any) -> Widget:
    """Let people choose one of the question's choices."""
    widget.kind, widget.answers = "answer", question.values
    widget.options = [("", "–"), *question.choices]
    widget.value = next((sent for sent, stored in question.values.items() if is_same(stored, value)), "")
    return widget
