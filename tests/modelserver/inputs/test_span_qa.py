"""Files of SQuAD, Quoref and HotpotQA become examples.

The examples hold the places of their answers.
"""

import json

import pytest

from modelserver.inputs.features import IN_TITLE
from modelserver.inputs.span_qa import FORMATS, GoldSpan, read_hotpotqa, read_quoref, read_squad
from modelserver.wire.errors import UnreadableData
from tests.analysis.data import real_data

CONTEXT = "The 😀 band was founded by Mira and Joss in Tolland."
SAMPLES = {
    "squad": "squad/xquad.en.json",
    "quoref": "quoref/quoref_original_subset_20191206_merged.json",
    "hotpotqa": "hotpot/hotpot_train_sample.json",
}


def squad(*questions, context=CONTEXT, title="The band"):
    qas = [
        {"id": f"q{n}", "question": "Who?", "answers": [{"text": t, "answer_start": s} for t, s in answers]}
        for n, answers in enumerate(questions)
    ]
    return {"version": "1.1", "data": [{"title": title, "paragraphs": [{"context": context, "qas": qas}]}]}


def hotpot(answer, *context, facts=(), **changed):
    entry = {
        "_id": "h1",
        "question": "Who?",
        "answer": answer,
        "supporting_facts": list(facts),
        "context": [list(article) for article in context],
    }
    return entry | changed


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.json"

    def write(content):
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


class TestSquad:
    def test_it_works(self, file):
        read = read_squad(file(squad([("Mira", 26), ("Mira and Joss", 26)])))
        (example,) = read.examples
        assert read.notes == []
        assert example.item.context == [("The band", [CONTEXT])]
        assert example.answers == ("Mira", "Mira and Joss")
        assert example.spans == (GoldSpan(0, 0, 26, 0, 30), GoldSpan(0, 0, 26, 0, 39))
        assert not example.together

    def test_unanswerable_questions_are_left_out_and_counted(self, file):
        read = read_squad(file(squad([], [("Mira", 26)], [])))
        assert [example.item.id for example in read.examples] == ["q1"]
        assert read.left_out == 2
        assert read.notes == []

    def test_an_answer_that_stands_elsewhere_is_found_at_the_nearest_place(self, file):
        read = read_squad(file(squad([("an", 38)])))
        assert read.examples[0].spans == (GoldSpan(0, 0, 31, 0, 33),)  # of "band" and "and"
        assert "1 answers are not at their offset" in read.notes[0]

    def test_an_answer_that_is_nowhere_counts_and_cannot_be_learned(self, file):
        read = read_squad(file(squad([("Nobody", 0)])))
        assert read.examples[0].answers == ("Nobody",)
        assert read.examples[0].spans == ()
        assert "1 answers are not in their context" in read.notes[0]


def test_quoref_answers_belong_together(file):
    single, several = read_quoref(file(squad([("Mira", 26)], [("Mira", 26), ("Joss", 35)]))).examples
    assert not single.together
    assert several.together
    assert several.answers == ("Mira", "Joss")
    assert several.spans == (GoldSpan(0, 0, 26, 0, 30), GoldSpan(0, 0, 35, 0, 39))


class TestHotpot:
    ARTICLES = (("Mira", ["Mira is here.", " She saw Joss."]), ("Joss", ["Joss 😀 saw Mira.", " Mira left."]))

    @pytest.mark.parametrize(
        "answer, facts, span",
        [
            ("Mira", [("Joss", 1)], GoldSpan(1, 1, 1, 1, 5)),  # in a gold fact
            ("Mira", [], GoldSpan(0, 0, 0, 0, 4)),  # in another sentence, and so not in the title before it
            ("saw mira", [("Mira", 0)], GoldSpan(1, 0, 7, 0, 15)),
            ("here. She", [], GoldSpan(0, 0, 8, 1, 4)),  # across sentences
        ],
    )
    def test_an_answer_is_looked_for_in_gold_facts_first(self, file, answer, facts, span):
        read = read_hotpotqa(file([hotpot(answer, *self.ARTICLES, facts=facts)]))
        assert read.examples[0].spans == (span,)

    def test_an_answer_in_a_title_alone(self, file):
        read = read_hotpotqa(file([hotpot("The Band", ["The Band", ["It plays."]])]))
        assert read.examples[0].spans == (GoldSpan(0, IN_TITLE, 0, IN_TITLE, 8),)

    @pytest.mark.parametrize("answer", ["yes", "no", "another"])
    def test_other_answers_are_kept_and_counted(self, file, answer):
        context = ["yes and no", ["yes, no"]]
        read = read_hotpotqa(file([hotpot(answer, context)]))
        assert read.examples[0].answers == (answer,)
        assert read.examples[0].spans == ()
        assert read.notes[0].startswith("1 questions have no answer")


class TestMalformed:
    """The error names the file, the entry and the field."""

    @pytest.mark.parametrize("form", ["squad", "quoref"])
    @pytest.mark.parametrize(
        "change, where",
        [
            (lambda c: c.pop("data"), "data: "),
            (lambda c: c.update(data=[]), "data: "),
            (lambda c: c["data"][0].pop("paragraphs"), "data.0.paragraphs: "),
            (lambda c: c["data"][0]["paragraphs"][0].update(context=3), "data.0.paragraphs.0.context: "),
            (lambda c: _question(c).pop("id"), "data.0.paragraphs.0.qas.1.id: "),
            (lambda c: _question(c).update(id="q0"), "data.0.paragraphs.0.qas.1.id: 'q0' occurs a second"),
            (lambda c: _question(c).update(question=""), "data.0.paragraphs.0.qas.1.question: "),
            (lambda c: _question(c).pop("answers"), "data.0.paragraphs.0.qas.1.answers: "),
            (lambda c: _question(c)["answers"][0].update(text=""), "qas.1.answers.0.text: "),
            (lambda c: _question(c)["answers"][0].update(answer_start=-1), "qas.1.answers.0.answer_start: "),
        ],
    )
    def test_a_field(self, file, form, change, where):
        content = squad([("Mira", 26)], [("Joss", 35)])
        change(content)
        path = file(content)
        with pytest.raises(UnreadableData) as caught:
            FORMATS[form](path)
        assert str(caught.value).startswith(f"{path}: ")
        assert where in str(caught.value)

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("content", ["", "{", "[1]", "3", "null", '{"data": 1}'])
    def test_a_file(self, file, form, content):
        path = file(content)
        with pytest.raises(UnreadableData, match=r"data\.json"):
            FORMATS[form](path)

    @pytest.mark.parametrize("form", FORMATS)
    def test_no_file(self, tmp_path, form):
        with pytest.raises(UnreadableData, match=r"gone\.json: there is no such file"):
            FORMATS[form](tmp_path / "gone.json")

    @pytest.mark.parametrize(
        "changed, where",
        [
            ({"question": ""}, "entry 2: question: "),
            ({"_id": "h1"}, "entry 2: _id: 'h1' occurs a second time"),
            ({"context": [["T", "x"]]}, "entry 2: context.0.1: "),
        ],
    )
    def test_a_hotpotqa_entry(self, file, changed, where):
        good = hotpot("Mira", ["Mira", ["Mira is here."]])
        path = file([good, good | {"_id": "h2"} | changed])
        with pytest.raises(UnreadableData, match=where):
            read_hotpotqa(path)


@pytest.mark.parametrize("form", FORMATS)
def test_the_real_samples(form):
    read = FORMATS[form](real_data(SAMPLES[form]))
    assert len(read.examples) == {"squad": 1190, "quoref": 415, "hotpotqa": 200}[form]
    examples_with_spans = sum(bool(example.spans) for example in read.examples)
    assert examples_with_spans >= 0.9 * len(read.examples)
    for example in read.examples:
        for span in example.spans:
            title, sentences = example.item.context[span.article]
            if span.first == span.last:
                text = title if span.first == IN_TITLE else sentences[span.first]
                assert text[span.start : span.end].lower() in {answer.lower() for answer in example.answers}


def _question(content):
    return content["data"][0]["paragraphs"][0]["qas"][1]
