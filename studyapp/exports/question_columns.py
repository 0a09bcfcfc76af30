"""Columns of the answers, orders and scores of a study's questions.

Pure: no Django.
"""

from collections.abc import Sequence

from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.questions.questionnaires import ORDER_COLUMN
from studyapp.definition.questions.scale_scores import Score
from studyapp.exports.columns import Column, Public


def build_question_columns(questions: list[Question]) -> tuple[Column, ...]:
    """Return the answer columns, then the columns that count changes.

    The questions of all versions share columns. A key whose scale differs between versions is one column of
    type "mixed".
    """
    answers: dict[str, Column] = {}
    changes: dict[str, Column] = {}
    for question in questions:
        *of_question, change = question.columns
        for answer in of_question:
            values = "; ".join(f"{_format_answer(value)} = {label}" for value, label in answer.values)
            # Typed text may name a person.
            public: Public = "withheld" if answer.is_free_text else "as is"
            meaning = f"{answer.meaning}{_explain_empty_cells(question)}"
            column = Column(answer.name, answer.type, meaning, "", answer.unit or "", values, public)
            earlier = answers.setdefault(answer.name, column)
            if (earlier.type, earlier.values) != (column.type, column.values):
                note = f"{earlier.meaning} (its scale differs between versions; see study_version.json)"
                stricter: Public = "withheld" if "withheld" in (earlier.public, public) else "as is"
                answers[answer.name] = Column(answer.name, "mixed", note, public=stricter)
        changes.setdefault(change.name, Column(change.name, "integer", change.meaning, "", change.unit or ""))
    return (*answers.values(), *changes.values())


def build_display_columns(questions: Sequence[Question]) -> tuple[Column, ...]:
    """Return what was declined and in which order, of composite questions."""
    columns = {column.name: column for question in questions for column in question.display_columns}
    return tuple(Column(column.name, column.type, column.meaning) for column in columns.values())


def _explain_empty_cells(question: Question) -> str:
    """Return why a cell may be empty although its page was submitted."""
    notes = []
    if question.unexplained_text is not None:
        notes.append(f"without explanations: “{question.unexplained_text}”")
    if question.only is not None:
        notes.append(f"asked only in: {', '.join(question.only) or 'no condition'}")
    if (shown := question.show_if) is not None:
        limits = (("at least", shown.at_least), ("at most", shown.at_most))
        bounds = [f"{word} {bound:g}" for word, bound in limits if bound is not None]
        answers = [_format_answer(value) for value in shown.is_ or ()]
        notes.append(f"asked only if {shown.question} is {' or '.join(answers) or ' and '.join(bounds)}")
    return f" ({'; '.join(notes)})" if notes else ""


QUESTION_ORDER = Column(
    ORDER_COLUMN,
    "string",
    "keys of the questions in the order of the page, joined by ;, also of those that an answer hid; made "
    "from order_seed, and empty after the data were made anonymous",
)


def score_columns(scores: list[Score]) -> tuple[Column, ...]:
    """Return a column for each score; versions share them."""
    return tuple({score.column: _score_column(score) for score in reversed(scores)}.values())[::-1]


def _score_column(score: Score) -> Column:
    low, high = score.range
    reverse = ", ".join(item.key for item in score.items if item.reversed)
    parts = [
        f"{score.title}, score of {len(score.items)} items: {', '.join(item.key for item in score.items)}",
        f"reversed: {reverse}" if reverse else "",
        f"higher means {score.higher}" if score.higher else "",
        "empty unless every item was answered",
        f"key: {score.source}" if score.source else "",
    ]
    return Column(
        score.column, "number", "; ".join(filter(None, parts)), unit="score", values=f"{low:g} to {high:g}"
    )


def _format_answer(value: Answer) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
