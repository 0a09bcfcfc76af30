"""Tests of what a definition would freeze: strata, practice, attention.

They cover tokens, groups and languages, too.
"""

import pytest
from django.db import connection

from predictions.models import Question
from studyapp.errors import StudyRefused
from studyapp.models import Stimulus
from studyapp.queries.design.designs import build_design
from studyapp.queries.studies import AlteredVersion, load_frozen_study, verify_version
from tests import workspaces
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

PROBABILITIES = [["The Lost Harbour", 0, 0.3], ["The Lost Harbour", 1, 0.9]]


@pytest.fixture
def run():
    """A run of the system "reader" over twelve questions.

    Every second of its answers is wrong.
    """
    return factories.make_run(dataset=factories.make_dataset(questions=12), system="reader")


def define(run, *, conditions=None, **changes):
    return factories.make_definition(
        dataset=run.dataset.name,
        conditions=conditions or [{"system": run.system.name}, {"ground_truth": True}],
        **{"items": {"count": 4}, **changes},
    )


def refusal(definition):
    with pytest.raises(StudyRefused) as refused:
        build_design(definition, workspaces.main())
    return refused.value.location, str(refused.value)


class TestStrata:
    @pytest.mark.parametrize(("share", "right"), [(0, 0), (0.25, 1), (0.5, 2), (1, 4)])
    def test_share_of_correct_answers(self, run, share, right):
        stratify = {"system": "reader", "correct": share}
        plan = build_design(
            define(run, items={"count": 4, "seed": 1, "stratify": stratify}), workspaces.main()
        )
        shown = plan.content.condition("reader").shown
        assert sum(shown[q.external_id].answer == q.answer for q in plan.questions) == right
        assert len({question.pk for question in plan.questions}) == 4

    def test_seeds_draw_others(self, run):
        stratify = {"system": "reader", "correct": 0.5}
        plans = [
            build_design(
                define(run, items={"count": 4, "seed": seed, "stratify": stratify}), workspaces.main()
            )
            for seed in (1, 1, 2)
        ]
        drawn = [[question.external_id for question in plan.questions] for plan in plans]
        assert drawn[0] == drawn[1] != drawn[2]

    def test_too_few_of_a_stratum(self, run):
        complaint = refusal(define(run, items={"count": 8, "stratify": {"system": "reader", "correct": 1}}))
        assert complaint[0] == ("items", "stratify")
        assert "stratify needs 8 questions that reader answers correctly" in complaint[1]
        assert "only 6 of them" in complaint[1]

    def test_a_system_without_predictions(self, run):
        complaint = refusal(define(run, items={"count": 2, "stratify": {"system": "other", "correct": 1}}))
        assert complaint[0] == ("items", "stratify", "system")


class TestPractice:
    def test_practice_items_are_others(self, run):
        plan = build_design(define(run, items={"count": 6}, practice={"count": 5}), workspaces.main())
        assert not {q.pk for q in plan.practice} & {q.pk for q in plan.questions}
        assert [row.id for row in plan.content.practice] == [q.external_id for q in plan.practice]
        assert len(plan.content.condition("reader").shown) == 11

    def test_too_few_are_left(self, run):
        location, words = refusal(define(run, items={"count": 10}, practice={"count": 3}))
        assert location == ("practice", "count")
        assert words.startswith("3 questions requested, but every condition can show only 2")
        assert words.endswith("; lower the number")  # no run would help

    def test_more_than_the_dataset_has(self, run):
        words = refusal(define(run, items={"count": 25}))[1]
        assert words.startswith("25 questions requested, but every condition can show only 12 of the 12")
        assert words.endswith("; lower the number")

    def test_named_practice_that_was_drawn_as_an_item(self, run):
        location, words = refusal(define(run, items={"count": 12}, practice={"ids": ["q1"]}))
        assert location == ("practice", "ids", 0)
        assert "'q1' is an item or an attention item already" in words


class TestAttention:
    CHECK = {"id": "c", "kind": "contradiction", "position": 1, "item": "q1", "answer": "Nowhere"}

    def checked(self, run, **changes):
        check = {**self.CHECK, "expected": {"rated_correct": False}, **changes}
        return define(run, attention=[check])

    def test_a_contradiction_shows_the_gold_facts_and_your_answer(self, run):
        row = build_design(self.checked(run), workspaces.main()).content.attention[0]
        question = Question.objects.get(dataset=run.dataset, external_id="q1")
        assert (row.text, row.answer, row.gold_answer) == (question.text, "Nowhere", question.answer)
        assert [list(fact) for fact in row.facts] == question.supporting_facts

    def test_its_question_is_never_drawn_as_an_item(self, run):
        for seed in range(5):
            check = {**self.CHECK, "expected": {"rated_correct": False}}
            plan = build_design(
                define(run, items={"count": 11, "seed": seed}, attention=[check]), workspaces.main()
            )
            assert "q1" not in {q.external_id for q in plan.questions}

    @pytest.mark.parametrize(
        ("changes", "field", "words"),
        [
            ({"item": "q99"}, "item", "no question with the id 'q99'"),
            ({"answer": "kolwen 1!"}, "answer", "is the gold answer of 'q1'"),
            ({"id": "q2"}, "id", "'q2' is the id of an item"),
        ],
    )
    def test_refused(self, run, changes, field, words):
        definition = self.checked(run, **changes)
        if field == "id":
            definition = definition.model_copy(
                update={"items": definition.items.model_copy(update={"count": 11})}
            )
        location, message = refusal(definition)
        assert location == ("attention", 0, field)
        assert words in message

    def test_unknown_gold_facts(self, run):
        Question.objects.filter(dataset=run.dataset, external_id="q1").update(supporting_facts=None)
        assert "facts of 'q1' are unknown" in refusal(self.checked(run))[1]


class TestExplanations:
    def shown(self, run, explanation, **condition):
        conditions = [{"system": "reader", "explanation": explanation, "name": "a", **condition}]
        plan = build_design(define(run, conditions=conditions), workspaces.main())
        return next(iter(plan.content.condition("a").shown.values()))

    def test_none_shows_the_answer_only(self, run):
        shown = self.shown(run, "none")
        assert shown.answer
        assert (shown.facts, shown.tokens) == (None, None)

    def test_names_tell_styles_apart(self, run):
        run.predictions.update(fact_probabilities=PROBABILITIES, rationale="Because.")
        shown = ("facts", "tokens", "both", "none", "rationale", "facts+rationale")
        styles = [{"system": "reader", "explanation": style} for style in shown]
        names = [
            arm.name
            for arm in build_design(define(run, conditions=styles), workspaces.main()).content.conditions
        ]
        assert names == [
            *("reader", "reader (tokens)", "reader (facts and tokens)", "reader (no explanation)"),
            *("reader (rationale)", "reader (facts and rationale)"),
        ]

    def test_tokens_by_the_probabilities_of_facts(self, run):
        run.predictions.update(fact_probabilities=PROBABILITIES)
        shown = self.shown(run, "tokens")
        assert shown.facts is None
        first, second = factories.CONTEXT[0][1]
        assert shown.tokens == [
            ("The Lost Harbour", 0, 0, len(first), 1), ("The Lost Harbour", 1, 0, len(second), 3),
        ]  # fmt: skip

    def test_weights_of_tokens_go_before_those_of_facts(self, run):
        run.predictions.update(
            fact_probabilities=PROBABILITIES, explanation_weights=[["Kolwen", 0, 0, 6, 2.0]]
        )
        shown = self.shown(run, "both")
        assert shown.tokens == [("Kolwen", 0, 0, 6, 3)]
        assert shown.question_tokens is None, "a hash as before where nobody knows the question's weights"
        assert "question_tokens" not in shown.model_dump()
        assert shown.facts == [("The Lost Harbour", 1)]

    def test_a_run_without_any_weights(self, run):
        location, words = refusal(define(run, conditions=[{"system": "reader", "explanation": "tokens"}]))
        assert location == ("conditions", 0, "explanation")
        assert "has neither token weights nor fact probabilities" in words

    def test_weights_that_do_not_fit_the_articles(self, run):
        run.predictions.update(explanation_weights=[["Kolwen", 0, 0, 600, 2.0]])
        location, words = refusal(define(run, conditions=[{"system": "reader", "explanation": "tokens"}]))
        assert location == ("conditions", 0, "explanation")
        assert "no sentence 0 of 'Kolwen' has the characters 0 to 600" in words

    def test_weights_of_the_question(self, run):
        run.predictions.update(explanation_weights=[["Kolwen", 0, 0, 6, 1.0]], question_weights=[[0, 3, 2.0]])
        shown = self.shown(run, "tokens")
        assert (shown.tokens, shown.question_tokens) == ([("Kolwen", 0, 0, 6, 2)], [(0, 3, 3)])
        assert self.shown(run, "facts").question_tokens is None
        run.predictions.update(question_weights=[[0, 900, 2.0]])
        words = refusal(define(run, conditions=[{"system": "reader", "explanation": "tokens"}]))[1]
        assert "the question has no characters 0 to 900" in words

    def test_items_are_drawn_among_those_with_weights(self, run):
        run.predictions.filter(question__external_id__in=["q1", "q2"]).update(
            fact_probabilities=PROBABILITIES
        )
        tokens = [{"system": "reader", "explanation": "tokens"}]
        plan = build_design(define(run, conditions=tokens, items={"count": 2}), workspaces.main())
        assert {q.external_id for q in plan.questions} == {"q1", "q2"}
        named = define(run, conditions=tokens, items={"ids": ["q3"]})
        assert "no answer with weights from" in refusal(named)[1]

    def test_a_rationale_instead_of_facts_or_beside_them(self, run):
        run.predictions.update(rationale="Kolwen is where she was born.")
        alone, beside = self.shown(run, "rationale"), self.shown(run, "facts+rationale")
        assert (alone.rationale, alone.facts) == ("Kolwen is where she was born.", None)
        assert (beside.rationale, beside.facts) == (alone.rationale, [("The Lost Harbour", 1)])
        assert self.shown(run, "facts").rationale is None, "the other styles show no rationale"

    @pytest.mark.parametrize("text", [None, "", " \n "])
    @pytest.mark.parametrize("explanation", ["rationale", "facts+rationale"])
    def test_a_run_without_rationales(self, run, explanation, text):
        run.predictions.update(rationale=text)
        location, words = refusal(define(run, conditions=[{"system": "reader", "explanation": explanation}]))
        assert location == ("conditions", 0, "explanation")
        assert words.endswith("has no rationales")

    def test_items_are_drawn_among_those_with_rationales(self, run):
        run.predictions.filter(question__external_id__in=["q1", "q2"]).update(rationale="Because.")
        conditions = [{"system": "reader", "explanation": "rationale"}]
        plan = build_design(define(run, conditions=conditions, items={"count": 2}), workspaces.main())
        assert {q.external_id for q in plan.questions} == {"q1", "q2"}
        named = define(run, conditions=conditions, items={"ids": ["q3"]})
        assert "cannot show 'q3': no answer with a rationale from" in refusal(named)[1]

    def test_without_an_explanation_gold_facts_may_be_unknown(self, run):
        run.dataset.questions.update(supporting_facts=None)
        plan = build_design(
            define(run, conditions=[{"ground_truth": True, "explanation": "none"}]), workspaces.main()
        )
        assert len(plan.questions) == 4


class TestLanguages:
    def test_complete_translations_only_are_frozen(self, run):
        texts = {"title": "Titel", "consent": "Ja.", "instructions": "Lesen."}
        words = {"de": texts, "fr": {**texts, "title": "Titre"}}
        assert build_design(define(run, translations=words), workspaces.main()).content.languages == [
            "en",
            "de",
        ]

    def test_a_language_that_the_site_does_not_speak(self, run):
        assert refusal(define(run, language="fr")) == (
            ("language",), "the pages of this site are not available in 'fr'; available: en, de",
        )  # fmt: skip


class TestLaunch:
    def test_kinds_of_items_have_their_rows(self):
        version = factories.make_everything().versions.get()
        kinds = list(version.items.order_by("position").values_list("kind", flat=True))
        assert kinds == ["item"] * 12 + ["practice"] * 2 + ["attention"]
        assert Stimulus.objects.filter(condition__version=version).count() == 5 * 14
        verify_version(version)

    @pytest.mark.parametrize("kind", ["practice", "attention"])
    def test_a_changed_check_is_found(self, kind):
        version = factories.make_everything().versions.get()
        with connection.cursor() as cursor:
            cursor.execute("UPDATE studyapp_item SET text = 'changed' WHERE kind = %s", [kind])
        with pytest.raises(AlteredVersion, match="differs from what was frozen"):
            verify_version(version)

    def test_the_same_again_is_the_same_version(self):
        study = factories.make_everything()
        version = study.versions.get()
        assert load_frozen_study(version).hash() == version.hash
        assert load_frozen_study(version).canonical() == version.frozen
