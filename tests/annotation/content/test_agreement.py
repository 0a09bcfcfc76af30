"""Agreement of several people's documents, and their disagreement."""

from analysis.gold_agreement import agreement
from annotation.content.agreement import build_agreement_item, measure_disagreement
from tests.annotation.content.documents import OF_BOXES, OF_SPANS, drawn, two_dogs
from tests.annotation.factories import SPANS, span


def test_agreement_compares_what_is_computed_too() -> None:
    item = build_agreement_item("i", OF_BOXES, {"A": two_dogs(), "B": two_dogs(black="a")})
    assert item.values["A"][1] == 2
    assert item.values["B"][1] == 1
    (parting,) = agreement([item], "boxes").partings
    assert parting.module == "filter"


def test_a_span_with_other_borders_is_missed() -> None:
    wide = drawn({"node": 2, "put": [span("a", 2, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    narrow = drawn({"node": 2, "put": [span("x", 3, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    two, three = {"A": wide, "B": narrow}, {"A": wide, "B": narrow, "C": narrow}
    assert measure_disagreement(OF_SPANS, two, SPANS.tokens) == 0.5  # the other step has no objects
    assert measure_disagreement(OF_SPANS, three, SPANS.tokens) == 0.25
    assert measure_disagreement(OF_SPANS, {"B": narrow, "C": narrow}, SPANS.tokens) == 0
