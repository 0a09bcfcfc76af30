"""Tests of the questions that somebody sees, by conditions and answers.

Sections, pages and orders count, too.
"""

import pytest
from pydantic import ValidationError

from studyapp.definition.questions.flow import (
    Viewer,
    build_pages,
    find_next_page,
    select_open_questions,
    select_visible_questions,
)
from studyapp.definition.questions.question import Question
from studyapp.definition.questions.questionnaires import TEMPLATES, Questionnaire
from studyapp.definition.schema import StudyDefinition

XQA = TEMPLATES["xqa-2020"]
PLAIN = Viewer(frozenset({"plain"}), is_explained=False, seed=1)
FACTS = Viewer(frozenset({"facts"}), is_explained=True, seed=1)


def make_question(key, **fields):
    return {"key": key, "text": f"{key}?", "scale": "yes_no", **fields}


def survey(*entries, **fields):
    return Questionnaire.model_validate(
        {"item": [make_question("own")], "post_survey": list(entries), **fields}
    )


def definition(**fields):
    return StudyDefinition.model_validate(
        {
            "study": "s",
            "title": "t",
            "dataset": "d",
            "consent": "c",
            "conditions": [{"system": "a"}, {"system": "a", "explanation": "none", "represents": False}],
            **fields,
        }
    )


def keys(pages):
    return [[question.key for question in page] for page in pages]


def frozen(**fields):
    written = definition(**fields)
    return written.freeze(items=[], conditions=[], rules=[])


class TestConditions:
    def test_the_2020_template_asks_about_explanations_only_where_there_are_some(self):
        study = frozen()
        explained, other = (
            [[q.text for q in page] for page in build_pages(study.post_survey, viewer)]
            for viewer in (Viewer(frozenset({"a"}), True), Viewer(frozenset({"a (no explanation)"}), False))
        )
        assert explained == [[question.text for question in XQA.post_survey]]
        assert other == [
            ["I trust the question answering system.", "I am satisfied with the question answering system."]
        ]
        assert [q.key for q in study.item_questionnaire if q.only] == ["helpfulness"]

    def test_a_study_that_shows_explanations_everywhere_freezes_as_before(self):
        """A version from before named conditions has the hash of the next one.

        It was launched before conditions could be named.
        """
        study = frozen(conditions=[{"system": "a"}, {"ground_truth": True}])
        fields = {"key", "text", "scale", "role", "required"}
        for question in (*study.item_questionnaire, *study.post_survey):
            assert question.model_dump(mode="json").keys() == fields

    def test_a_participant_of_several_conditions_is_asked_what_one_of_them_asks(self):
        both = Viewer(frozenset({"a", "a (no explanation)"}), is_explained=True)
        assert keys(build_pages(frozen().post_survey, both)) == [[q.key for q in XQA.post_survey]]

    @pytest.mark.parametrize(
        ("limit", "message"),
        [
            ({"only": ["b"]}, "there is no condition 'b'; there is a, a \\(no explanation\\), explained"),
            ({"only": []}, "name at least one condition"),
            ({"only": "a", "except": "a"}, "give either only or except"),
        ],
    )
    def test_a_limit_that_means_nothing(self, limit, message):
        with pytest.raises(ValidationError, match=message):
            definition(questionnaire={"item": [make_question("own", **limit)], "post_survey": []})

    def test_an_attention_item_expects_only_what_everybody_is_asked(self):
        check = {"id": "c", "kind": "instructed", "position": 1, "text": "5!", "expected": {"helpfulness": 5}}
        with pytest.raises(ValidationError, match="helpfulness is not asked of every participant"):
            definition(attention=[check])

    def test_instructions_have_parts(self):
        study = frozen(
            instructions=[{"text": "Read."}, {"text": "Look at the marks.", "only": "explained"}],
        )
        assert study.instructions_page
        assert study.instructions_for(Viewer(frozenset({"a"}), True)) == "Read.\n\nLook at the marks."
        assert study.instructions_for(Viewer(frozenset({"a (no explanation)"}), False)) == "Read."


class TestEarlierAnswers:
    QUESTIONS = survey(
        make_question("used"),
        make_question("liked", show_if={"question": "used", "is": True}),
        make_question("why", show_if={"question": "liked", "is": True}),
    ).post_survey

    @pytest.mark.parametrize(
        ("answers", "left"),
        [
            ({}, ["used"]),
            ({"used": False, "liked": True}, ["used", "why"]),
            ({"used": True}, ["used", "liked"]),
            ({"used": True, "liked": True}, ["used", "liked", "why"]),
        ],
    )
    def test_it_works(self, answers, left):
        assert [question.key for question in select_visible_questions(self.QUESTIONS, answers)] == left

    @pytest.mark.parametrize(
        ("scale", "shown", "answer", "opens"),
        [
            ({"points": 5}, {"at_least": 4}, 4, True),
            ({"points": 5}, {"at_least": 4}, 3, False),
            ({"points": 5}, {"is": [1, 2]}, 2, True),
            ({"kind": "number", "min": 0, "max": 9}, {"at_most": 3}, 3, True),
            ({"kind": "multiple", "choices": {"a": "A", "b": "B"}}, {"is": "b"}, ["a", "b"], True),
            ({"kind": "multiple", "choices": {"a": "A", "b": "B"}}, {"is": "b"}, ["a"], False),
            ({"kind": "single", "choices": {"a": "A", "b": "B"}}, {"is": ["a", "b"]}, "a", True),
        ],
    )
    def test_every_kind_of_answer(self, scale, shown, answer, opens):
        questionnaire = survey(
            make_question("first", scale=scale), make_question("then", show_if={"question": "first", **shown})
        )
        assert (len(select_visible_questions(questionnaire.post_survey, {"first": answer})) == 2) is opens

    @pytest.mark.parametrize(
        ("shown", "message"),
        [
            ({"question": "nobody", "is": True}, "there is no question 'nobody'; earlier questions: first"),
            ({"question": "later", "is": True}, "'later' does not come before it"),
            ({"question": "then", "is": True}, "'then' does not come before it"),
            ({"question": "first", "is": "maybe"}, "first is answered by true, false, not 'maybe'"),
            ({"question": "first", "is": 1}, "first is answered by true, false, not 1"),
            ({"question": "first", "at_least": 1}, "first is not answered by a number"),
            ({"question": "first"}, "give either is, or at_least and at_most"),
            ({"question": "first", "is": True, "at_most": 2}, "give either is, or at_least and at_most"),
        ],
    )
    def test_a_condition_that_cannot_be_met(self, shown, message):
        with pytest.raises(ValidationError, match=message):
            survey(make_question("first"), make_question("then", show_if=shown), make_question("later"))


class TestPages:
    ENTRIES = (
        {"heading": "Before", "text": "Some words."},
        make_question("a"),
        make_question("b"),
        {"page_break": True},
        {"heading": "After"},
        make_question("c", show_if={"question": "a", "is": True}),
        {"page_break": True},
        make_question("d", only=["facts"]),
        make_question("e", only=["plain"]),
    )

    def test_it_works(self):
        pages = build_pages(survey(*self.ENTRIES).post_survey, FACTS)
        assert keys(pages) == [["a", "b"], ["c"], ["d"]]
        assert (pages[0][0].heading, pages[0][0].heading_text) == ("Before", "Some words.")
        assert pages[1][0].heading == "After"

    def test_a_page_without_a_question_is_passed_over(self):
        pages = build_pages(survey(*self.ENTRIES).post_survey, PLAIN)
        assert find_next_page(pages, 2, {"a": False}) == 3
        assert find_next_page(pages, 2, {"a": True}) == 2
        assert find_next_page(pages, 4, {}) is None

    def test_a_heading_stays_over_its_section_if_its_first_question_is_hidden(self):
        questionnaire = survey(
            make_question("a"),
            {"page_break": True},
            {"heading": "Why"},
            make_question("b", show_if={"question": "a", "is": True}),
            make_question("c"),
        )
        [question] = select_open_questions(build_pages(questionnaire.post_survey, FACTS)[1], {"a": False})
        assert (question.key, question.heading) == ("c", "Why")

    @pytest.mark.parametrize("part", ["item", "comprehension"])
    def test_an_item_and_a_check_have_one_page(self, part):
        question = make_question("own", page_break=True)
        fields = {
            "item": {"questionnaire": {"item": [question], "post_survey": []}},
            "comprehension": {
                "instructions": "Read.",
                "comprehension": {"questions": [{**question, "correct": True}]},
            },
        }
        with pytest.raises(ValidationError, match="own cannot have page_break here"):
            definition(**fields[part])

    def test_a_heading_over_nothing(self):
        with pytest.raises(ValidationError, match="a question must follow a heading or a page break"):
            survey(make_question("a"), {"heading": "The end"})


class TestOrder:
    MANY = survey(
        *(make_question(f"q{n}") for n in range(6)),
        make_question("why", show_if={"question": "q2", "is": True}),
        {"heading": "Later"},
        *(make_question(f"r{n}") for n in range(4)),
    ).post_survey

    def test_each_participant_has_an_order_that_a_reload_keeps(self):
        orders = {
            tuple(keys(build_pages(self.MANY, FACTS._replace(seed=seed), is_shuffled=True))[0])
            for seed in range(30)
        }
        assert len(orders) > 20
        again = [build_pages(self.MANY, FACTS, is_shuffled=True) for _time in range(2)]
        assert keys(again[0]) == keys(again[1])

    def test_sections_and_what_depends_stay_in_place(self):
        for seed in range(30):
            [page] = build_pages(self.MANY, FACTS._replace(seed=seed), is_shuffled=True)
            order = [question.key for question in page]
            assert {key[0] for key in order[:7]} == {"q", "w"}
            assert order.index("why") == order.index("q2") + 1
            assert [question.key for question in page if question.heading] == [order[7]]

    def test_choices_are_shuffled_but_the_last(self):
        choices = {"kind": "single", "choices": {name: name for name in "abcdef"}}
        question = Question.model_validate(make_question("one", scale=choices, random_choices=True, fixed=2))
        shown = set()
        for seed in range(40):
            [[shuffled]] = build_pages([question], FACTS._replace(seed=seed))
            values = [value for value, _label in shuffled.choices]
            assert values[4:] == ["e", "f"]
            shown.add(tuple(values))
        assert len(shown) > 10
        assert [value for value, _ in build_pages([question], FACTS._replace(seed=None))[0][0].choices] == [
            *"abcdef"
        ]

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"random_choices": True}, "questions with a list of choices"),
            ({"fixed": 1}, "questions with random_choices"),
        ],
    )
    def test_nothing_to_shuffle(self, fields, message):
        with pytest.raises(ValidationError, match=message):
            survey(make_question("a", **fields))
