"""Several people's documents side by side: steps and clusters."""

from analysis.programs import parse
from annotation.content.adjudication import build_draft
from annotation.content.agreement import build_agreement_item
from annotation.content.comparison import build_steps, list_letters
from annotation.content.schemas import Document
from tests.annotation.content.documents import OF_BOXES, OF_SPANS, drawn, two_dogs
from tests.annotation.factories import SPANS, span


def test_it_works() -> None:
    steps = build_steps(OF_BOXES, {"A": two_dogs(), "B": two_dogs(0.02)})
    assert [step.node for step in steps] == [3, 2]
    assert all(step.unanimous for step in steps)
    assert [sorted(cluster.members) for cluster in steps[0].clusters] == [["A", "B"], ["A", "B"]]


def test_who_chose_differently_is_to_decide() -> None:
    find, chosen = build_steps(OF_BOXES, {"A": two_dogs(), "B": two_dogs(black="a")})
    assert find.unanimous
    assert not chosen.unanimous


def test_spans_with_other_borders_are_no_agreement() -> None:
    wide = drawn({"node": 2, "put": [span("a", 2, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    narrow = drawn({"node": 2, "put": [span("x", 3, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    step = build_steps(OF_SPANS, {"A": wide, "B": narrow, "C": narrow}, SPANS.tokens)[0]
    [cluster] = step.clusters
    assert [sorted(variant.members) for variant in step.variants(cluster)] == [["B", "C"], ["A"]]
    assert not step.unanimous


def test_letters_go_on_after_z() -> None:
    assert list_letters(28)[-3:] == ["Z", "A2", "B2"]


def test_spans_of_characters_are_compared_by_characters():
    # Three people mark in 東京都, one token: two of them 東京, one 京都.
    tokens, passage = ((0, 3), (3, 5)), "東京都の人"
    program = parse("count(find[goals])", kind="spans")
    edges = {"A": (0, 2), "B": (0, 2), "C": (1, 3)}
    documents = {
        who: Document.model_validate(
            {"layers": {1: {"state": "done", "objects": [
                {"id": "s", "span": [start, end], "tokens": [0, 1], "quote": passage[start:end]}]}}}
        )
        for who, (start, end) in edges.items()
    }  # fmt: skip
    item = build_agreement_item("i", program, documents, tokens=tokens)
    assert item.tokens == 4
    assert [item.objects[who][1] for who in "ABC"] == [[(0, 2)], [(0, 2)], [(1, 3)]]
    [settled] = build_draft(program, documents, tokens, passage).layers[1].objects
    assert (settled.span, settled.tokens, settled.quote) == ((0, 2), (0, 1), "東京")
