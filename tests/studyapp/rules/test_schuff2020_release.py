"""Tests of importing the released study of 2020: all of it or nothing.

It comes in once, without anything that the file lacks.
"""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analysis.io.errors import InputError
from analysis.io.schuff2020_release import CONDITIONS, read_release
from analysis.participants.bundle import load_bundle
from analysis.participants.exclusion_rules import apply_rules
from studyapp.actions.links import create_link
from studyapp.actions.participants import consent
from studyapp.actions.studies import reopen_study
from studyapp.models import Condition, Event, Item, Participant, Study, SurveyResponse, Trial
from studyapp.policies import NotAdmitted
from tests.paths import DATA
from tests.studyapp.factories import make_study


def line(subject: int, condition: str = "Qi-2019", items: tuple[str, ...] = ("b", "a", "c")) -> dict:
    """Return a line of the file.

    The second item was known before, the third took too long.
    """
    return {
        "subject_id": subject,
        "condition": condition,
        "per_question_ratings": {
            "question_ids": list(items),
            "certainty_ratings": ["strong_agree", "neutral", "disagree"],
            "completion_times(ms)": [20_000, 60_000, 300_001],
            "answer_correct_ratings": ["yes", "no", "yes"],
            "answer_known_before": ["no", "yes", "no"],
            "helpfulness_ratings": ["agree", "agree", "strong_disagree"],
        },
        "post_questionnaire_ratings": {
            "trust": "agree",
            "enough_details": "neutral",
            "irrelevant_details": "disagree",
            "satisfied": "strong_disagree",
        },
    }


@pytest.fixture
def released(tmp_path):
    """Write lines to a file and return its path."""

    def write(*lines: dict | str) -> Path:
        path = tmp_path / "data.jsonl"
        texts = [text if isinstance(text, str) else json.dumps(text) for text in lines]
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    return write


def run_import(path: Path, **options: str) -> None:
    call_command("import_study_results", "f1-is-not-enough", str(path), **options)


@pytest.mark.django_db
def test_it_works(released, capsys):
    run_import(released(line(2**62 + 1), line(2, "ground truth", ("c", "b", "a"))))
    assert "2 participants, 3 items, 6 responses" in capsys.readouterr().out
    study = Study.objects.get(slug="f1-is-not-enough")
    assert study.status == "closed"
    version = study.versions.get()
    assert [condition.name for condition in version.conditions.all()] == list(CONDITIONS)
    assert [condition.is_ground_truth for condition in version.conditions.all()] == [False] * 3 + [True]
    assert [item.external_id for item in version.items.all()] == ["a", "b", "c"]
    first = Participant.objects.earliest("pk")
    assert (first.mode, first.status, first.condition.name) == ("live", "completed", "Qi-2019")
    trials = list(first.trials.select_related("item"))
    assert [(trial.item.external_id, trial.client_total_ms) for trial in trials] == [
        ("b", 20_000), ("a", 60_000), ("c", 300_001),
    ]  # fmt: skip
    assert trials[1].answers == {
        "rated_correct": False, "known_before": True, "certainty": 3, "helpfulness": 4,
    }  # fmt: skip
    assert first.survey.answers == {
        "trust": 4, "relevant_information": 3, "irrelevant_information": 2, "satisfaction": 1,
    }  # fmt: skip
    assert Event.objects.get().kind == "results_imported"


@pytest.mark.django_db
def test_what_the_file_lacks_stays_empty(released):
    run_import(released(line(1)))
    trial, item = Trial.objects.earliest("pk"), Item.objects.earliest("pk")
    assert (trial.shown_at, trial.submitted_at, trial.client_visible_ms, trial.changes) == (None,) * 4
    assert (item.text, item.gold_answer, item.context, item.question) == (None,) * 4
    participant = Participant.objects.get()
    assert (participant.consented_at, participant.completed_at, participant.order_seed) == (None,) * 3
    for condition in Condition.objects.all():
        for stimulus in condition.stimuli.all():
            assert (stimulus.shown_answer, stimulus.system_correct, stimulus.judged_by) == (None, None, "")


@pytest.mark.django_db
def test_the_same_file_again_changes_nothing(released, capsys):
    run_import(released(line(1), line(2)))
    version = Study.objects.get().versions.get()
    run_import(released(line(1), "", line(2)))
    assert "holds this file already; nothing was changed" in capsys.readouterr().out
    assert Study.objects.get().versions.get() == version
    assert Participant.objects.count() == 2
    assert Event.objects.count() == 1


@pytest.mark.django_db
def test_other_data_under_the_name_is_refused(released):
    run_import(released(line(1)))
    with pytest.raises(CommandError, match="name of other data of the released study"):
        run_import(released(line(1), line(2)))
    other = make_study()
    with pytest.raises(CommandError, match="name of another study"):
        run_import(released(line(1)), name=other.slug)
    assert Participant.objects.count() == 1
    run_import(released(line(1)), name="again")
    assert Participant.objects.count() == 2


def _without(field: str) -> dict:
    bad = line(2)
    del bad["per_question_ratings"][field]
    return bad


def _with(field: str, value: object) -> dict:
    bad = line(2)
    bad["per_question_ratings"][field] = value
    return bad


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", r": Invalid JSON"),
        ("[]", r": "),
        (line(1), r", column subject_id: 1 is on line 1 too"),
        (line(2, "S&F"), r", column condition: Input should be 'Qi-2019'"),
        (_without("helpfulness_ratings"), r", column .*\.helpfulness_ratings: is missing"),
        (_with("helpfulness_ratings", ["agree"]), r", column .*helpfulness_ratings has 1 entries and q"),
        (_with("completion_times(ms)", [1]), r", column .*completion_times\(ms\) has 1 entries"),
        (_with("completion_times(ms)", [1, -1, 2]), r", column .*completion_times\(ms\)\.1: Input should be"),
        (_with("completion_times(ms)", [1, "2", 2]), r", column .*completion_times\(ms\)\.1: .* integer"),
        (_with("certainty_ratings", ["agree", "maybe", "agree"]), r", column .*certainty_ratings\.1: Input"),
        (_with("question_ids", ["a", "a", "b"]), r", column .*question_ids names a question twice"),
        (line(2, items=("a", "b", "d")), r", column .*question_ids: c was not shown to all"),
        ({**line(2), "age": 30}, r", column age: there is no such field"),
    ],
)  # fmt: skip
def test_a_malformed_line_stores_nothing(released, bad, message):
    with pytest.raises(CommandError, match=r"jsonl, line 2" + message):
        run_import(released(line(1), bad))
    assert not Study.objects.exists()
    assert not Participant.objects.exists()


@pytest.mark.django_db
def test_a_missing_or_empty_file(released, tmp_path):
    with pytest.raises(CommandError, match=r"absent\.jsonl: there is no such file"):
        run_import(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="holds no participant"):
        read_release(released(""))


@pytest.mark.django_db
def test_nobody_can_enter_it(released):
    run_import(released(line(1)))
    study = reopen_study(study=Study.objects.get(), by=None)
    link, _token = create_link(study=study, by=None)
    with pytest.raises(NotAdmitted, match="no more participants"):
        consent(link=link)
    assert Participant.objects.count() == 1


@pytest.mark.django_db
def test_exported_with_published_scores_and_exclusions(released, tmp_path, capsys):
    run_import(released(line(1), line(2, "Select & Forget")))
    call_command("export_results", "f1-is-not-enough", out=tmp_path / "out")
    assert capsys.readouterr().err == ""
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert len(scores["systems"]) == 4
    assert scores["systems"]["Qi-2019"]["source"] == "Schuff et al. 2020, Table 2"
    assert scores["systems"]["Qi-2019"]["scores"]["em"] == 0.4948
    assert scores["systems"]["Select & Forget, regularized"]["scores"]["loca_outside"] == 0.0101
    version = json.loads((tmp_path / "out" / "study_version.json").read_text())["versions"][0]
    assert version["published"]["excluded_percent"] == 12.1
    assert "scores" not in version["published"]
    counts = json.loads((tmp_path / "out" / "rules.json").read_text())["counts"]["live"]
    assert (counts["total_trials"], counts["excluded"]) == (6, 4)
    assert counts["by_rule"] == {"known-before": 2, "too-fast": 0, "too-slow": 2}
    flow = json.loads((tmp_path / "out" / "flow.json").read_text())["modes"]["live"]["conditions"]
    assert flow["Qi-2019"] == {
        "assigned": 1, "started": 1, "dropped_at": {}, "completed": 1, "withdrawn": 0, "active": 0,
    }  # fmt: skip


@pytest.fixture
def real_file():
    root = DATA
    path = Path(root) / "user_study" / "data.jsonl"
    if not path.exists():
        pytest.skip("the released study user_study/data.jsonl is not on this machine (set TOUCHSTONE_DATA)")
    return path


@pytest.mark.django_db
def test_the_real_study(real_file, tmp_path):
    run_import(real_file)
    assert (Participant.objects.count(), Trial.objects.count(), SurveyResponse.objects.count()) == (
        40, 1000, 40,
    )  # fmt: skip
    call_command("export_results", "f1-is-not-enough", out=tmp_path / "out")
    bundle = load_bundle(tmp_path / "out")
    exclusions = apply_rules(bundle.rules, [dict(row) for _index, row in bundle.trials.iterrows()])
    assert len(bundle.trials) == exclusions.total == 1000
    # Schuff et al. 2020, §6.4, applied to the released file: 13 too fast, 9 too slow, 21 known before.
    assert exclusions.by_rule == {"too-fast": 13, "too-slow": 9, "known-before": 21}
    assert exclusions.excluded == 43
    counts = json.loads((tmp_path / "out" / "rules.json").read_text())["counts"]["live"]
    assert (counts["excluded"], counts["percent"]) == (43, 4.3)
    assert counts == json.loads(json.dumps(exclusions.as_counts()))
    assert (bundle.trials["excluded_by"].notna()).sum() == 43
