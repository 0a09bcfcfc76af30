"""import_dataset imports all or nothing, and reports every mistake.

The same file again changes nothing.
"""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from predictions.models import Dataset, Event, Question
from tests.analysis.data import real_data
from tests.studyapp.questions import entries, entry, write_json

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def run(path: Path, *arguments: str, name: str = "films") -> tuple[str, str]:
    output, error = StringIO(), StringIO()
    call_command(
        "import_dataset", "hotpot", str(path), "--name", name, *arguments, stdout=output, stderr=error
    )
    return output.getvalue(), error.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_json(tmp_path / "films.json", entries(7))


def test_it_works(file: Path):
    output, error = run(file)
    assert output == "films: 7 questions added, 0 were there already\n"
    assert error == ""
    dataset = Dataset.objects.get()
    assert (dataset.name, dataset.source_format) == ("films", "hotpot")
    question = dataset.questions.get(external_id="q3")
    assert question.text == "Who directed the film Night Ferry 3?"
    assert question.answer == "Paul Stone IIII"
    assert (question.kind, question.level) == ("bridge", "easy")
    assert question.context == entry(3)["context"]
    assert question.supporting_facts == entry(3)["supporting_facts"]
    assert Event.objects.get().data == {"dataset": "films", "added": 7}


def test_every_imported_question_can_be_sent(file: Path):
    run(file)
    for question in Question.objects.all():
        assert question.wire().question == question.text


def test_the_same_again_changes_nothing(file: Path):
    run(file)
    output, _ = run(file)
    assert output == "films: 0 questions added, 7 were there already\n"
    assert Question.objects.count() == 7
    assert Event.objects.count() == 1


def test_more_questions_are_added(tmp_path: Path):
    run(write_json(tmp_path / "a.json", entries(3)))
    output, _ = run(write_json(tmp_path / "b.json", entries(5)))
    assert output == "films: 2 questions added, 3 were there already\n"
    assert list(Question.objects.values_list("external_id", flat=True)) == ["q0", "q1", "q2", "q3", "q4"]


@pytest.mark.parametrize(
    "changes, field",
    [({"answer": "Else"}, "answer"), ({"question": "Who?"}, "question"), ({"type": "comparison"}, "type")],
)
def test_another_question_under_a_known_id_is_refused(tmp_path: Path, changes: dict[str, str], field: str):
    run(write_json(tmp_path / "a.json", entries(3)))
    changed = write_json(tmp_path / "b.json", [entry(8), entry(1, **changes)])
    with pytest.raises(CommandError, match=rf"b\.json:1: q1: {field}: differs") as error:
        run(changed)
    assert error.value.returncode == 1
    assert Question.objects.count() == 3


def test_a_mistake_at_the_end_leaves_nothing(tmp_path: Path):
    rows = [*entries(1200), entry(1200, answer=None)]
    with pytest.raises(CommandError, match=r"films\.json:1: entry 1201 \(q1200\): answer: "):
        run(write_json(tmp_path / "films.json", rows))
    assert not Dataset.objects.exists()
    assert not Question.objects.exists()
    assert not Event.objects.exists()


def test_a_file_cut_off_in_a_download_leaves_nothing(tmp_path: Path, file: Path):
    file.write_text(file.read_text()[:-40])
    with pytest.raises(CommandError, match=r"films\.json:1: not JSON"):
        run(file)
    assert not Dataset.objects.exists()


def test_a_dry_run_checks_and_stores_nothing(file: Path):
    output, _ = run(file, "--dry-run")
    assert output == "films: 7 questions would be added, 0 were there already\n"
    assert not Dataset.objects.exists()
    assert not Event.objects.exists()


def test_a_limit_takes_the_first(file: Path):
    run(file, "--limit", "2")
    assert list(Question.objects.values_list("external_id", flat=True)) == ["q0", "q1"]


def test_gold_facts_without_a_sentence_are_kept_with_a_warning(tmp_path: Path):
    rows = [entry(0), entry(1, supporting_facts=[["Oslo", 0], ["Oslo", 9]])]
    output, _ = run(write_json(tmp_path / "films.json", rows))
    assert "1 × gold facts that name no sentence" in output
    assert "(q1: ('Oslo', 9))" in output
    assert Question.objects.get(external_id="q1").supporting_facts == [["Oslo", 0], ["Oslo", 9]]


def test_unknown_gold_facts_are_counted(tmp_path: Path):
    output, _ = run(write_json(tmp_path / "films.json", [entry(0, supporting_facts=None), entry(1)]))
    assert "1 × questions with unknown gold facts" in output
    assert Question.objects.get(external_id="q0").supporting_facts is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-format", "f.json", "--name", "x"),
        ("hotpot", "f.json"),
        ("hotpot", "f.json", "--name", "a b"),
        ("hotpot", "f.json", "--name", "x", "--limit", "0"),
    ],
)
def test_wrong_usage_is_refused(arguments: tuple[str, ...]):
    with pytest.raises(CommandError, match="Error: "):
        call_command("import_dataset", *arguments)


def test_a_missing_file_is_told(tmp_path: Path):
    with pytest.raises(CommandError, match=r"none\.json: there is no such file"):
        run(tmp_path / "none.json")


def test_the_number_of_queries_does_not_grow_with_the_questions(file: Path, django_assert_max_num_queries):
    with django_assert_max_num_queries(13):
        run(file)


def test_real_questions_are_imported():
    path = real_data("hotpot/hotpot_sample.json")
    output, error = run(path)
    assert output == "films: 586 questions added, 0 were there already\n"
    assert error == ""
    rows = {row["_id"]: row for row in json.loads(path.read_text())}
    for question in Question.objects.all():
        row = rows[question.external_id]
        assert question.context == row["context"]
        assert question.supporting_facts == row["supporting_facts"]
