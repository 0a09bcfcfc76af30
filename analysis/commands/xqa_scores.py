"""The command ``xqa-scores``: HotpotQA's official scores."""

from pathlib import Path

from ..io.command_line import always_json
from ..io.errors import AnalysisError, InputError
from ..io.spreadsheet import format_csv
from ..io.whole_files import read_json, write_text
from ..scores.hotpotqa import malformed_facts, score, score_each
from .options import print_json


@always_json
def print_xqa_scores(
    *,
    gold: Path,
    predictions: Path,
    out_questions: Path | None = None,
    system: str = "system",
    strict: bool = False,
) -> None:
    """Print HotpotQA's official scores as JSON.

    Args:
        gold: Questions with gold answers, in the official JSON form.
        predictions: Answers and facts of a system, in the official JSON form.
        out_questions: CSV file to write with the contribution of each question, for the report.
        system: Name of the system in that file.
        strict: Refuse predictions with a fact that is not [title, index] instead of counting it as wrong.
    """
    gold_questions, predicted = read_json(gold), read_json(predictions)
    if not isinstance(gold_questions, list):
        raise InputError(gold, "must be a JSON list of questions")
    try:
        scores = score(gold_questions, predicted)
    except ValueError as error:
        raise AnalysisError(f"{gold} with {predictions}: {error}") from None
    malformed = malformed_facts(predicted)
    if malformed and strict:
        question, fact = malformed[0]
        raise InputError(predictions, f"{fact!r} is not [title, index]", field=f"sp.{question}")
    if out_questions:
        rows = [(system, name, *own.values()) for name, own in score_each(gold_questions, predicted)]
        write_text(out_questions, format_csv(("system", "question_id", *scores), rows))
    total, notes = len(gold_questions), []
    for key, label in (("answer", "answer"), ("sp", "fact list")):
        missing = sum(question["_id"] not in predicted.get(key, {}) for question in gold_questions)
        if missing:
            notes.append(f"{missing} of {total} questions have no {label}; they count 0")
    if malformed:
        first = "{}: {!r}".format(*malformed[0])
        notes.append(f"{len(malformed)} facts are not [title, index] and match nothing, first {first}")
    print_json(scores, notes)
