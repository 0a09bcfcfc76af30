"""Columns of questions, which all versions of a study share."""

from studyapp.definition.questions.answer_scales import LikertScale
from studyapp.definition.questions.question import Question
from studyapp.exports.columns import Column
from studyapp.exports.question_columns import build_question_columns


def _question(key: str, points: int | None) -> Question:
    if points is None:
        return Question(key=key, text=f"{key}?", scale="yes_no")
    labels = [f"label {n}" for n in range(points)]
    return Question(key=key, text=f"{key}?", scale=LikertScale(points=points, labels=labels))


def test_a_key_with_two_scales_is_a_mixed_column():
    columns = {
        column.name: column
        for column in build_question_columns(
            [_question("sure", 5), _question("sure", None), _question("new", 3)]
        )
    }
    assert list(columns) == ["sure", "new", "changes_sure", "changes_new"]
    assert columns["sure"].type == "mixed"
    assert columns["new"] == Column(
        "new", "integer", "new?", unit="scale point", values="1 = label 0; 2 = label 1; 3 = label 2"
    )
