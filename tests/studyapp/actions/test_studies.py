"""Tests of studies: drafts, launches, versions, refusals and freezing."""

import random
import subprocess
import sys

import pytest
from django.db import connection
from django.db.models import ProtectedError

from analysis.scores import hotpotqa
from predictions.models import Dataset, Prediction, PredictionRun, Question, System
from studyapp.actions.studies import close_study, create_study, reopen_study
from studyapp.definition.frozen.freezing import FrozenStudy, hash_canonical
from studyapp.errors import StudyRefused
from studyapp.models import Event, Item, Stimulus, Study, StudyVersion
from studyapp.models.studies import FrozenRow
from studyapp.queries.design.designs import build_design
from studyapp.queries.design.item_pools import draw
from studyapp.queries.studies import AlteredVersion, find_latest_version, load_frozen_study, verify_version
from studyapp.rules.states import ForbiddenTransition
from tests import workspaces
from tests.studyapp import factories


def edited(definition, **changes):
    return definition.model_copy(update=changes)


def refused(definition):
    with pytest.raises(StudyRefused) as caught:
        create_study(workspace=workspaces.main(), definition=definition, by=None)
    assert not Study.objects.exists(), "nothing half-done"
    assert not Event.objects.exists()
    return caught.value.location, str(caught.value)


@pytest.mark.django_db
def test_it_works():
    user = factories.make_user()
    definition = factories.make_definition(conditions=3, items=4)
    study = create_study(workspace=workspaces.main(), definition=definition, by=user)
    assert (study.status, study.title, study.created_by) == ("draft", definition.title, user)
    version = factories.launch(study, by=user)
    study.refresh_from_db()
    assert study.status == "open"
    assert (version.number, version.frozen_by) == (1, user)
    assert version.conditions.count() == 3
    assert version.items.count() == 4
    assert Stimulus.objects.count() == 12
    verify_version(version)
    assert list(Event.objects.values_list("kind", "actor")) == [
        ("study_created", user.pk),
        ("check_accepted", user.pk),
        ("study_launched", user.pk),
    ]


@pytest.mark.django_db
class TestDraft:
    def test_the_same_again_changes_nothing(self):
        definition = factories.make_definition()
        study = create_study(workspace=workspaces.main(), definition=definition, by=None)
        assert create_study(workspace=workspaces.main(), definition=definition, by=None) == study
        assert Event.objects.count() == 1

    def test_edited(self):
        definition = factories.make_definition()
        create_study(workspace=workspaces.main(), definition=definition, by=None)
        study = create_study(workspace=workspaces.main(), definition=edited(definition, title="New"), by=None)
        assert study.title == "New"
        assert Study.objects.get().definition["title"] == "New"
        assert list(Event.objects.values_list("kind", flat=True)) == ["study_created", "study_edited"]

    def test_every_definition_is_a_revision_of_its_own(self):
        first = factories.make_definition()
        study = create_study(workspace=workspaces.main(), definition=first, by=None)
        for title in ("New", "Newer"):
            study = create_study(workspace=workspaces.main(), definition=edited(first, title=title), by=None)
            assert study.definition == edited(first, title=title).model_dump(mode="json")
        assert study.draft_number == 2
        assert list(study.revisions.values_list("number", "before", "changed")) == [
            (1, None, "definition"),
            (2, 1, "definition"),
        ]

    def test_editing_leaves_an_open_study_open(self):
        definition = factories.make_definition()
        study = factories.make_study_of(definition)
        create_study(workspace=workspaces.main(), definition=edited(definition, title="New"), by=None)
        study.refresh_from_db()
        assert study.status == "open"
        version = find_latest_version(study)
        assert version is not None
        assert load_frozen_study(version).title == definition.title


@pytest.mark.django_db
class TestRefused:
    def test_unknown_dataset(self):
        definition = factories.make_definition()
        location, message = refused(edited(definition, dataset="none"))
        assert location == ("dataset",)
        assert "there is no dataset 'none'" in message
        assert definition.dataset in message

    def test_unknown_system(self):
        definition = factories.make_definition()
        system_name = System.objects.get().name
        conditions = [
            definition.conditions[0].model_copy(update={"system": "none"}),
            definition.conditions[1],
        ]
        location, message = refused(edited(definition, conditions=conditions))
        assert location == ("conditions", 0, "system")
        assert message == f"unknown system 'none'; known systems: {system_name}"

    @pytest.mark.parametrize("status", ["pending", "running", "failed"])
    def test_no_finished_predictions(self, status):
        definition = factories.make_definition()
        PredictionRun.objects.update(status=status)
        location, message = refused(definition)
        system = System.objects.get().name
        assert location == ("conditions", 0, "system")
        assert f"condition {system!r} has no finished predictions on {definition.dataset}" in message
        assert f"python manage.py predict --dataset {definition.dataset} --system {system} --wait" in message

    def test_predictions_on_another_dataset(self):
        definition = factories.make_definition()
        other = factories.make_dataset()
        location, message = refused(edited(definition, dataset=other.name))
        assert location == ("conditions", 0, "system")
        assert f"no finished predictions on {other}" in message

    def test_too_few_questions(self):
        definition = factories.make_definition(items=3)  # of six
        Prediction.objects.exclude(question__external_id__in=["q1", "q2"]).delete()
        location, message = refused(definition)
        assert location == ("items", "count")
        assert "3 questions requested, but every condition can show only 2 of the 6 questions" in message
        assert "ground truth 6" in message

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda: Prediction.objects.filter(question__external_id="q1").delete(), "no answer from"),
            (
                lambda: Prediction.objects.filter(question__external_id="q1").update(answer=""),
                "no answer from",
            ),
            (
                lambda: Question.objects.filter(external_id="q1").update(supporting_facts=None),
                "gold facts are unknown",
            ),
            (lambda: Question.objects.filter(external_id="q1").update(answer=""), "gold answer"),
        ],
    )
    def test_a_named_item_that_a_condition_cannot_show(self, change, reason):
        definition = factories.make_definition(items={"ids": ["q2", "q1"]})
        change()
        location, message = refused(definition)
        assert location == ("items", "ids", 1)
        assert "cannot show 'q1'" in message
        assert reason in message

    def test_unknown_item(self):
        definition = factories.make_definition(items={"ids": ["q2", "q99"]})
        assert refused(definition) == (
            ("items", "ids", 1),
            f"{definition.dataset} has no question with the id 'q99'",
        )

    def test_rule_about_an_item_that_was_not_drawn(self):
        drawn = [
            q.external_id for q in build_design(factories.make_definition(), workspaces.main()).questions
        ]
        Study.objects.all().delete()
        other = next(f"q{n}" for n in range(1, 7) if f"q{n}" not in drawn)
        rules = [{"name": "bad", "kind": "item", "item_id": other}]
        location, message = refused(factories.make_definition(exclusions=rules))
        assert location == ("exclusions", 0, "item_id")
        assert f"{other!r} is not an item of this study" in message

    def test_launch_of_what_has_become_impossible(self):
        study = factories.make_study(launched=False)
        Prediction.objects.all().delete()
        with pytest.raises(StudyRefused, match="3 questions requested"):
            factories.launch(study)
        study.refresh_from_db()
        assert study.status == "draft"
        assert not StudyVersion.objects.exists()

    def test_launch_of_a_study_without_a_definition(self):
        study = Study.objects.create(workspace=workspaces.main(), slug="old", title="Old", definition={})
        with pytest.raises(StudyRefused, match="give it one with create_study"):
            factories.launch(study)


@pytest.mark.django_db
class TestDraw:
    def test_only_what_every_condition_can_show(self):
        definition = factories.make_definition(items=3)  # of six
        Prediction.objects.filter(question__external_id="q1").update(answer="")
        Prediction.objects.filter(question__external_id="q2").delete()
        Question.objects.filter(external_id="q3").update(supporting_facts=None)
        assert {q.external_id for q in build_design(definition, workspaces.main()).questions} == {
            "q4",
            "q5",
            "q6",
        }

    def test_named_items_keep_their_order(self):
        plan = build_design(factories.make_definition(items={"ids": ["q3", "q1", "q2"]}), workspaces.main())
        assert [q.external_id for q in plan.questions] == ["q3", "q1", "q2"]
        assert [item.id for item in plan.content.items] == ["q3", "q1", "q2"]

    def test_the_newest_run_is_shown(self):
        definition = factories.make_definition()
        dataset, system = Dataset.objects.get(), System.objects.get().name
        factories.make_run(dataset=dataset, system=system, revision="r2")
        unfinished = factories.make_run(dataset=dataset, system=system, revision="r3")
        PredictionRun.objects.filter(pk=unfinished.pk).update(status="running")
        assert build_design(definition, workspaces.main()).content.conditions[0].revision == "r2"


class TestDrawing:
    IDS = [f"q{n}" for n in range(200)]

    def test_order_of_the_dataset_does_not_matter(self):
        mixed = random.Random(1).sample(self.IDS, len(self.IDS))
        assert draw(mixed, 25, 2020) == draw(self.IDS, 25, 2020)

    def test_seeds_differ(self):
        assert draw(self.IDS, 25, 1) != draw(self.IDS, 25, 2)

    def test_no_doubles(self):
        assert len(set(draw(self.IDS, 25, 1))) == 25

    def test_one_question_more_displaces_at_most_one(self):
        before, after = draw(self.IDS, 25, 1), draw([*self.IDS, "new"], 25, 1)
        assert len(set(before) - set(after)) <= 1

    def test_the_same_in_another_process(self):
        program = (
            "import os; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'config.settings')\n"
            "import django; django.setup()\n"
            "from studyapp.queries.design.item_pools import draw\n"
            "print(draw([f'q{n}' for n in range(200)], 25, 2020))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(draw(self.IDS, 25, 2020))

    def test_every_id_is_as_likely(self):
        counts = dict.fromkeys(self.IDS[:10], 0)
        for seed in range(2000):
            counts[draw(self.IDS[:10], 1, seed)[0]] += 1
        # Ten classes of 200 expected: the chi-square statistic exceeds 27.9 once in a thousand.
        assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 27.9


@pytest.mark.django_db
class TestLaunch:
    def test_unchanged_returns_the_existing_version(self):
        study = factories.make_study()
        version = study.versions.get()
        assert factories.launch(study) == version
        assert StudyVersion.objects.count() == 1

    def test_two_studies_of_the_same_content_have_the_same_hash(self):
        definition = factories.make_definition()
        first = factories.make_study_of(definition)
        second = factories.make_study_of(edited(definition, study="twin"))
        assert first.versions.get().hash == second.versions.get().hash

    @pytest.mark.parametrize(
        "changes",
        [
            {"title": "Another"},
            {"consent": "Another"},
            {"instructions": "Another"},
            {"order_seed": 99},
            {"stale_after_minutes": 61.0},
            {"assignment_block": 2},
            {"exclusions": []},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_changed_definition_makes_a_new_version(self, changes):
        definition = factories.make_definition()
        study = factories.make_study_of(definition)
        factories.make_study_of(edited(definition, **changes))
        first, second = study.versions.order_by("number")
        assert (first.number, second.number) == (1, 2)
        assert first.hash != second.hash

    @pytest.mark.parametrize(
        "change",
        [
            lambda: Question.objects.update(text="Another question?"),
            lambda: Question.objects.update(context=[["Other", ["Another sentence."]]]),
            lambda: Question.objects.update(answer="Another answer"),
            lambda: Question.objects.update(supporting_facts=[["Kolwen", 0]]),
            lambda: Prediction.objects.update(answer="Another answer"),
            lambda: Prediction.objects.update(facts=[["Kolwen", 0]]),
        ],
        ids=["question", "context", "gold answer", "gold facts", "answer", "facts"],
    )
    def test_changed_data_makes_a_new_version_and_leaves_the_old_one(self, change):
        study = factories.make_study()
        before = StudyVersion.objects.get()
        rows = list(Item.objects.values()), list(Stimulus.objects.values())
        change()
        after = factories.launch(study)
        assert after.number == 2
        assert after.hash != before.hash
        assert list(Item.objects.filter(version=before).values()) == rows[0]
        assert list(Stimulus.objects.filter(condition__version=before).values()) == rows[1]
        verify_version(StudyVersion.objects.get(pk=before.pk))
        verify_version(after)

    def test_an_older_version_is_not_opened_again(self):
        definition = factories.make_definition()
        study = factories.make_study_of(definition)
        factories.make_study_of(edited(definition, title="Second"))
        create_study(workspace=workspaces.main(), definition=definition, by=None)
        with pytest.raises(StudyRefused, match="version 1 holds, which version 2 has replaced"):
            factories.launch(study)
        assert study.versions.count() == 2

    def test_the_hash_is_that_of_what_is_stored(self):
        version = factories.make_study().versions.get()
        version.refresh_from_db()
        assert version.hash == hash_canonical(version.frozen)
        assert FrozenStudy.model_validate(version.frozen).canonical() == version.frozen

    def test_stimuli(self):
        study = factories.make_study(conditions=2, items={"ids": ["q1", "q2"]})
        version = study.versions.get()
        system, gold = version.conditions.order_by("position")
        right, wrong = system.stimuli.order_by("item__position")
        assert (right.exact_match, right.answer_f1, right.system_correct) == (True, 1.0, True)
        assert (wrong.shown_answer, wrong.exact_match, wrong.system_correct) == ("Elsewhere", False, False)
        assert wrong.answer_f1 == hotpotqa.answer_f1("Kolwen 2", "Elsewhere").f1
        assert {right.judged_by, wrong.judged_by} == {"exact match"}
        assert right.facts == [["The Lost Harbour", 1]]
        shown = gold.stimuli.get(item__external_id="q2")
        assert (shown.shown_answer, shown.system_correct, shown.judged_by) == ("Kolwen 2", True, "gold")
        assert shown.facts == [["The Lost Harbour", 1], ["Ada Brenn", 0]]
        assert gold.is_ground_truth
        assert gold.run is None
        assert system.run == PredictionRun.objects.get()


@pytest.mark.django_db
class TestStates:
    def test_close_and_reopen(self):
        study = factories.make_study()
        assert close_study(study=study, by=None).status == "closed"
        assert reopen_study(study=study, by=None).status == "open"
        kinds = Event.objects.order_by("pk").values_list("kind", flat=True)
        assert list(kinds)[-2:] == ["study_closed", "study_reopened"]

    @pytest.mark.parametrize(
        ("launched", "act", "sentence"),
        [
            (False, close_study, "cannot close while draft"),
            (False, reopen_study, "cannot reopen while draft"),
            (True, reopen_study, "cannot reopen while open"),
        ],
    )
    def test_not_possible(self, launched, act, sentence):
        study = factories.make_study(launched=launched)
        events = Event.objects.count()
        with pytest.raises(ForbiddenTransition, match=sentence):
            act(study=study, by=None)
        assert Event.objects.count() == events

    def test_launching_a_closed_study_opens_it(self):
        study = factories.make_study()
        close_study(study=study, by=None)
        factories.launch(study)
        study.refresh_from_db()
        assert study.status == "open"


@pytest.mark.django_db
class TestImmutable:
    def test_a_version_and_an_item_are_never_changed_or_deleted(self):
        version = factories.make_study().versions.get()
        for row in (version, version.items.get(position=1)):
            with pytest.raises(FrozenRow, match="never changed"):
                row.save()
            with pytest.raises(FrozenRow, match="never deleted"):
                row.delete()

    @pytest.mark.parametrize("model", [StudyVersion, Item])
    def test_nor_many_at_once(self, model):
        factories.make_study()
        with pytest.raises(FrozenRow, match="never changed"):
            model.objects.update(pk=0)
        with pytest.raises(FrozenRow, match="never deleted"):
            model.objects.all().delete()
        assert model.objects.exists()

    def test_nor_with_the_study(self):
        study = factories.make_study()
        with pytest.raises(ProtectedError):
            study.delete()

    @pytest.mark.parametrize(
        ("sql", "sentence"),
        [
            ("UPDATE studyapp_item SET text = 'Other?' WHERE external_id = 'q1'", "item 'q1' differs"),
            ("UPDATE studyapp_item SET gold_answer = 'x' WHERE external_id = 'q1'", "item 'q1' differs"),
            ("UPDATE studyapp_item SET external_id = 'q9' WHERE external_id = 'q1'", "item 'q1' differs"),
            ("UPDATE studyapp_stimulus SET shown_answer = 'x'", "shows for 'q1' differs"),
            ("UPDATE studyapp_stimulus SET facts = '[]'", "shows for 'q1' differs"),
            ("UPDATE studyapp_condition SET name = 'x' WHERE position = 1", "differs"),
            ("UPDATE studyapp_studyversion SET hash = 'x'", "does not give the hash"),
            ("UPDATE studyapp_studyversion SET frozen = '{}'", "does not give the hash"),
        ],
    )
    def test_a_change_behind_the_programs_back_is_found(self, sql, sentence):
        study = factories.make_study(items={"ids": ["q1", "q2"]})
        verify_version(study.versions.get())
        with connection.cursor() as cursor:
            cursor.execute(sql)
        with pytest.raises(AlteredVersion, match=sentence):
            verify_version(study.versions.get())

    def test_an_added_item_is_found(self):
        study = factories.make_study()
        Item.objects.create(version=study.versions.get(), position=99, external_id="new")
        with pytest.raises(AlteredVersion, match="'new' was added"):
            verify_version(study.versions.get())

    def test_a_judgement_is_no_alteration(self):
        study = factories.make_study()
        Stimulus.objects.update(system_correct=False, judged_by="Dr. Brenn")
        verify_version(study.versions.get())
