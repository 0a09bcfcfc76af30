"""Tests of study definitions: defaults, and errors by line and field.

Every error names its file, too.
"""

from textwrap import dedent

import pytest

from studyapp.definition.definition_file import load_definition
from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.definition.reference_page import build_page
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.yaml_document import DefinitionError
from tests.paths import EXAMPLES, ROOT

EXAMPLE = EXAMPLES / "study.yaml"

EVERYTHING = EXAMPLE.with_name("everything.yaml")

SMALL = """\
study: small
title: A small study
dataset: world
conditions:
  - system: qi2019
  - ground_truth: true
consent: You take part.
"""


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "study.yaml"
        path.write_text(dedent(text), encoding="utf-8")
        return load_definition(path)

    return load


@pytest.fixture
def problems(load, tmp_path):
    """The error lines of a text, without the file name."""

    def problems(text):
        with pytest.raises(DefinitionError) as caught:
            load(text)
        return str(caught.value).replace(f"{tmp_path}/study.yaml:", "").splitlines()

    return problems


def test_it_works():
    definition = load_definition(EXAMPLE)
    assert definition.study == "film-facts"
    assert [condition.name for condition in definition.conditions] == [
        "qi2019",
        "select-and-forget",
        "ground truth",
    ]
    assert [condition.label for condition in definition.conditions] == [
        "Qi et al. 2019",
        "Select & Forget",
        "ground truth",
    ]
    assert (definition.items.count, definition.items.seed) == (25, 2020)
    assert definition.questionnaire == TEMPLATES["xqa-2020"]
    assert [rule.freeze().model_dump() for rule in definition.exclusions] == [
        {"name": "too-fast", "kind": "min_time", "clock": "client_total", "milliseconds": 15_000},
        {"name": "too-slow", "kind": "max_time", "clock": "client_total", "milliseconds": 300_000},
        {"name": "known-before", "kind": "answered", "question": "known_before", "value": True},
    ]
    assert definition.consent.count("\n\n") == 1
    assert definition.completion.redirect_url is None


def test_defaults(load):
    small, example = load(SMALL), load_definition(EXAMPLE)
    assert (small.items.count, small.items.seed, small.items.ids) == (25, 1, None)
    assert small.questionnaire == example.questionnaire
    assert small.exclusions == example.exclusions
    assert small.stale_after_minutes == 60
    assert small.order_seed == 1
    assert small.assignment_block is None
    assert [condition.weight for condition in small.conditions] == [1.0, 1.0]


@pytest.mark.parametrize("text", [SMALL, EXAMPLE.read_text("utf-8"), SMALL + "items: {ids: [a, b]}\n"])
def test_a_stored_definition_reads_back_the_same(load, text):
    definition = load(text)
    assert StudyDefinition.model_validate(definition.model_dump(mode="json")) == definition
    assert StudyDefinition.model_validate_json(definition.model_dump_json()) == definition


def test_own_questionnaire(load):
    definition = load(
        SMALL
        + """\
questionnaire:
  item:
    - {key: fine, text: Is it fine, scale: yes_no, role: correctness_rating}
    - key: sure
      text: I am sure.
      scale: {points: 3, labels: [no, so so, "yes"]}
      required: false
  post_survey: []
""".replace("labels: [no,", 'labels: ["no",')
    )
    assert [question.key for question in definition.questionnaire.item] == ["fine", "sure"]
    assert [rule.name for rule in definition.exclusions] == ["too-fast", "too-slow"], (
        "no known_before to read"
    )


def test_questions_and_rules_that_fit_pictures(load):
    definition = load(SMALL + "questionnaire: pictures\n")
    assert [question.key for question in definition.questionnaire.item] == [
        "rated_correct", "certainty", "helpfulness"
    ]  # fmt: skip
    assert [(rule.name, rule.seconds) for rule in definition.exclusions] == [
        ("too-fast", 5),
        ("too-slow", 300),
    ]
    named = load(SMALL + "questionnaire: pictures\nexclusions: []\n")
    assert named.exclusions == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("study: small", "study: Small Study"), "1: study: "),
        (("study: small", "study: 2020"), "1: study: must be text; write it in quotes: '2020'"),
        (("title: A small study\n", ""), "1: title: is missing"),
        (("title: A small study", 'title: "\\u200b"'), "2: title: this text has no visible character"),
        (("dataset: world", "datset: world"), "3: datset: there is no such field"),
        (("  - ground_truth: true", "  - {}"), "6: conditions[2]: a condition has either"),
        (
            ("  - ground_truth: true", "  - {system: a, ground_truth: true}"),
            "6: conditions[2]: a condition has either",
        ),
        (("  - ground_truth: true", "  - a"), "6: conditions[2]: must be a mapping of fields"),
        (
            ("  - ground_truth: true", "  - {ground_truth: true, explanation: tokens}"),
            "6: conditions[2]: explanation: the ground truth has no token weights and no rationale",
        ),
        (
            ("  - ground_truth: true", "  - {ground_truth: true, explanation: pictures}"),
            "6: conditions[2].explanation: must be 'facts', 'tokens', 'both', 'none', ",
        ),
        (
            ("  - ground_truth: true", "  - {ground_truth: true, group: a}"),
            "4: conditions: 'ground truth' has a group, which only a mixed design may have",
        ),
        (
            ("  - ground_truth: true", "  - system: qi2019"),
            "4: conditions: two conditions are named 'qi2019'",
        ),
        (
            ("  - ground_truth: true", "  - ground_truth: true\n    weight: 0"),
            "7: conditions[2].weight: must be greater than 0",
        ),
        (
            ("  - system: qi2019\n  - ground_truth: true", "  []"),
            "4: conditions: must have at least 1 item",
        ),
    ],
)
def test_field_errors(problems, change, expected):
    lines = problems(SMALL.replace(*change))
    assert any(line.startswith(expected) for line in lines), lines


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("items: {count: 0}", "8: items.count: must be at least 1"),
        ("items:\n  count: many", "9: items.count: "),
        ("items: {ids: [a], count: 3}", "8: items: give either ids, or count and seed"),
        ("items: {ids: [a, b, a]}", "8: items: two ids are named 'a'"),
        ("items: {ids: []}", "8: items.ids: must have at least 1 item"),
        ("items:\n  ids:\n    - a\n    - 17", "11: items.ids[2]: must be text; write it in quotes"),
        ("questionnaire: xqa-2021", "8: questionnaire: unknown template 'xqa-2021'; known templates: "),
        (
            "questionnaire:\n  item:\n    - key: a\n      text: A?\n      scale:\n        labels: [x, y]\n"
            "  post_survey: []",
            "12: questionnaire.item[1].scale: 5 points need 5 labels, not 2",
        ),
        (
            "questionnaire:\n  item:\n    - {key: mode, text: A, scale: yes_no}\n  post_survey: []",
            "10: questionnaire.item[1]: the key 'mode' is the name of another column",
        ),
        (
            "questionnaire:\n  item:\n    - {key: a, text: A, scale: stars}\n  post_survey: []",
            "10: questionnaire.item[1].scale: ",
        ),
        (
            "questionnaire:\n  item:\n    - {key: a, text: A, scale: yes_no}",
            "8: questionnaire.post_survey: is missing",
        ),
        (
            "exclusions:\n  - {name: a, kind: slow, seconds: 3}",
            "9: exclusions[1]: unknown kind 'slow'; known kinds: 'min_time', 'max_time', 'answered', ",
        ),
        ("exclusions:\n  - {name: a, seconds: 3}", "9: exclusions[1]: kind is missing"),
        (
            "exclusions:\n  - name: a\n    kind: min_time\n    clock: wall\n    seconds: 3",
            "11: exclusions[1].clock: must be 'server', 'client_total' or 'client_visible'",
        ),
        (
            "exclusions:\n  - {name: a, kind: min_time, clock: server, seconds: .nan}",
            "9: exclusions[1].seconds: ",
        ),
        ("exclusions:\n  - {name: a, kind: max_time, seconds: 3}", "9: exclusions[1].clock: is missing"),
        (
            "exclusions:\n  - {name: a, kind: answered, question: mood, value: 1}",
            "8: exclusions: rule 'a': no item question has the key 'mood'; known keys: rated_correct,",
        ),
        (
            "exclusions:\n  - {name: a, kind: answered, question: certainty, value: 6}",
            "8: exclusions: rule 'a': certainty is answered by 1, 2, 3, 4, 5, not 6",
        ),
        (
            "exclusions:\n  - {name: a, kind: answered, question: certainty, value: true}",
            "8: exclusions: rule 'a': certainty is answered by 1, 2, 3, 4, 5, not True",
        ),
        (
            "exclusions:\n  - {name: a, kind: answered, question: known_before, value: 1}",
            "8: exclusions: rule 'a': known_before is answered by true, false, not 1",
        ),
        (
            "items: {ids: [a]}\nexclusions:\n  - {name: r, kind: item, item_id: b}",
            "9: exclusions: rule 'r': 'b' is not an item of this study",
        ),
        (
            "exclusions:\n  - {name: r, kind: item, item_id: b}\n  - {name: r, kind: item, item_id: c}",
            "8: exclusions: two rules are named 'r'",
        ),
        ("stale_after_minutes: .inf", "8: stale_after_minutes: "),
        ("assignment_block: 0", "8: assignment_block: "),
        ("completion: {redirect_url: 'http://x.example/'}", "8: completion.redirect_url: must be a full"),
        ("completion: {redirect_url: 'javascript:alert(1)'}", "8: completion.redirect_url: must be"),
        ("completion: {redirect_url: 'https://'}", "8: completion.redirect_url: must be a full"),
        ("completion: {redirect_url: 'https://me@x.example/'}", "8: completion.redirect_url: must be"),
        ("completion: {redirect_url: 'https://{code}.example/'}", "8: completion.redirect_url: {code}"),
        ("completion: {redirect_url: 'https://x.example/{cod}'}", "8: completion.redirect_url: contains a"),
        ("completion: {redirect_url: 'https://x.example/ y'}", "8: completion.redirect_url: contains a"),
        ("completion: {redirect_url: 'https://[x'}", "8: completion.redirect_url: is not an address"),
        ("title: Again", "8: the key 'title' is given twice"),
        ("design: mixed", "4: conditions: a mixed design needs a group for every condition; 'qi2019'"),
        ("design: crossed", "8: design: must be 'between', 'within' or 'mixed'"),
        ("design: within\nitems: {count: 1}", "9: items: 1 items are too few to show 2 conditions"),
        ("items: {ids: [a]}\npractice: {ids: [a]}", "9: practice: two items and practice items"),
        ("practice: {count: 2, stratify: {system: a, correct: 1}}", "8: practice.stratify: "),
        ("items: {stratify: {system: a, correct: 2}}", "8: items.stratify.correct: must be at most"),
        ("items: {ids: [a], stratify: {system: a, correct: 1}}", "8: items: give either ids, or count"),
        ("comprehension: {questions: []}", "8: comprehension.questions: must have at least 1"),
        (
            "comprehension: {questions: [{key: a, text: A, scale: yes_no, correct: true}]}",
            "8: comprehension: there are no instructions to comprehend",
        ),
        (
            "instructions: Read.\nscreening:\n  - {key: a, text: A, scale: yes_no}\n"
            "comprehension:\n  questions:\n    - {key: a, text: A, scale: yes_no, correct: true}",
            "11: comprehension: screening and comprehension: two questions have the key 'a'",
        ),
        (
            "screening:\n  - {key: a, text: A, scale: yes_no, accept: [1]}",
            "9: screening[1]: accept: a is answered by true, false, not 1",
        ),
        (
            "screening:\n  - {key: a, text: A, scale: yes_no, accept: {at_most: x}}",
            "9: screening[1].accept.at_most: must be a number",
        ),
        (
            "questionnaire:\n  template: xqa-2020\n  post_survey:\n    - {template: nasa-tlx}\n"
            "    - key: a\n      text: A\n      scale:\n        kind: number\n        min: 3\n        max: x",
            "17: questionnaire.post_survey[2].scale.max: must be a number",
        ),
        (
            "questionnaire:\n  template: xqa-2020\n  post_survey:\n    - {template: sus}",
            "10: questionnaire.post_survey: scale 'sus': items must be the 10 items of the scale",
        ),
        (
            "questionnaire: {template: x}",
            "8: questionnaire: unknown template 'x'; known templates: advice, counterfactual, pictures, "
            "preference, simulation, xqa-2020",
        ),
        (
            "questionnaire:\n  template: xqa-2020\n  item:\n    - {key: a, text: A, scale: {kind: stars}}",
            "11: questionnaire.item[1].scale: ",
        ),
        (
            "attention:\n  - {id: a, kind: instructed, position: 27, text: T, expected: {certainty: 1}}",
            "8: attention: attention item 'a': position 27 is beyond the 26 pages",
        ),
        (
            "attention:\n  - {id: a, kind: instructed, position: 2, text: T, expected: {certainty: true}}",
            "8: attention: attention item 'a': certainty is answered by 1, 2, 3, 4, 5, not True",
        ),
        (
            "attention:\n  - {id: a, kind: instructed, position: 2, expected: {certainty: 1}}",
            "9: attention[1]: instructed has text, not ",
        ),
        ("translations: {de: {titel: T}}", "8: translations.de.titel: there is no such field"),
        ("translations: {en: {title: T}}", "8: translations: 'en' is the language of the study itself"),
        ("translations: {de: {item: {mood: M}}}", "8: translations: de.item: there is no 'mood' to"),
        ("language: English", "8: language: "),
        (
            "exclusions:\n  - {name: a, kind: answered, question: certainty, value: agree}",
            "8: exclusions: rule 'a': certainty is answered by 1, 2, 3, 4, 5, not 'agree'",
        ),
    ],
)  # fmt: skip
def test_more_field_errors(problems, more, expected):
    lines = problems(SMALL + more + "\n")
    assert lines[0].startswith(expected), lines


def test_every_problem_is_told_at_once(problems):
    assert problems(SMALL.replace("study: small\n", "").replace("dataset: world", "dataset: []")) == [
        "1: study: is missing",
        "2: dataset: must be text",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("study: [a", "1: is not valid YAML: expected"),
        ("study: small\n\ttitle: x", "2: is not valid YAML: "),
        ("study: !!python/object:os.system {}", "1: is not valid YAML: could not determine"),
        ("a: 1\n---\nb: 2\n", "2: is not valid YAML: but found another document"),
        ("study: \x07", "1: is not valid YAML: "),
        ("", "1: must be a mapping of fields"),
        ("- a", "1: must be a mapping of fields"),
        ("? [a, b]\n: c", "1: is not valid YAML: found unhashable key"),
    ],
)
def test_no_yaml(problems, text, expected):
    lines = problems(text)
    assert lines[0].startswith(expected), lines
    assert len(lines) == 1


@pytest.mark.parametrize("url", ["https://x.example/done?cc={code}", "https://x.example/a%20b"])
def test_redirect(load, url):
    assert load(SMALL + f"completion: {{redirect_url: '{url}'}}").completion.redirect_url == url


def test_the_reference_page_is_up_to_date():
    stored = (ROOT / "docs" / "reference" / "study-definition.md").read_text("utf-8")
    assert stored == build_page(), (
        "run: python -m studyapp.definition.reference_page > docs/reference/study-definition.md"
    )


def test_the_examples_name_every_field_of_a_study():
    named = {field for path in (EXAMPLE, EVERYTHING) for field in load_definition(path).model_fields_set}
    assert named >= StudyDefinition.model_fields.keys()
