"""The flow diagram: well formed, complete, without overlaps, described."""

from xml.etree import ElementTree

import pytest

from analysis.participants.attrition import ParticipantFlow
from analysis.report.plots.flow_diagram import BOX, describe_flow, draw_flow_svg
from tests.analysis.participants.test_attrition import flow_of, part

SVG = "{http://www.w3.org/2000/svg}"


def parsed(flow, **more):
    return ElementTree.fromstring(draw_flow_svg(flow, **more))  # noqa: S314 - our own text


def words(root):
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def boxes(root):
    return [
        tuple(int(rect.get(key) or 0) for key in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
    ]


def test_it_works():
    root = parsed(
        flow_of(part("Qi-2019"), part("Select & Forget <new>")),
        title="Who & what",  # words: allow - test data
    )
    texts = words(root)
    for line in ("Consented: 45", "Qi-2019", "Select & Forget <new>", "Never started: 1", "Not completed: 4",
                 "Completed: 15", "Excluded trials: 7", "too-fast: 5", "Retained trials: 383"):  # fmt: skip
        assert line in texts
    assert root.find(f"{SVG}title").text == "Who & what"  # words: allow - test data
    labels = set(root.get("aria-labelledby").split())
    assert root.get("role") == "img"
    assert labels == {root.find(f"{SVG}{part}").get("id") for part in ("title", "desc")}


def test_the_description_says_all_that_the_picture_says():
    flow = flow_of(part("one"), part("two", withdrawn=0, active=0))
    description = parsed(flow).find(f"{SVG}desc").text
    assert description == describe_flow(flow)
    picture = " ".join(words(parsed(flow)))
    for fact in description.removeprefix("45 participants consented. ").replace(". ", "; ").split("; "):
        assert fact.removesuffix(".") in picture


def test_people_who_never_started_are_not_counted_twice():
    text = describe_flow(flow_of(part(assigned=20, started=18, completed=15, dropped_at={0: 3, 7: 2})))
    assert "Never started: 2; Started: 18; Not completed: 3; after items (people): 0\xa0(1), 7\xa0(2)" in text


def test_boxes_do_not_overlap_and_hold_their_text():
    many = dict.fromkeys(range(25), 1)
    flow = flow_of(*(part(f"a condition with a long name, number {i}", dropped_at=many) for i in range(5)))
    root = parsed(flow)
    rectangles = boxes(root)
    for i, (x, y, w, h) in enumerate(rectangles):
        assert x >= 0
        assert x + w <= int(root.get("width"))
        assert y + h <= int(root.get("height"))
        for u, v, s, t in rectangles[i + 1 :]:
            assert x + w <= u or u + s <= x or y + h <= v or v + t <= y
    # A letter at 13 px is about 7 px wide.
    assert max(len(line) for line in words(root)) * 7 <= BOX + 7


def test_what_is_unknown_or_zero_has_no_box():
    unknown = part(assigned=None, started=None, completed=None, active=None, withdrawn=None, dropped_at={})
    texts = words(parsed(ParticipantFlow(None, (unknown,))))
    assert texts == ["a", "Submitted trials: 390", "Excluded trials: 7", "too-fast: 5", "known: 4",
                     "some by several rules", "Retained trials: 383", "of 18 participants"]  # fmt: skip
    clean = part(
        assigned=15, started=15, dropped_at={}, active=0, withdrawn=0, trials=383, hit={"too-fast": 0}
    )
    texts = words(parsed(ParticipantFlow(None, (clean,))))
    assert not any(word in " ".join(texts) for word in ("Never", "Not completed", "Excluded"))


def test_several_on_one_page_have_their_own_ids():
    live, pilot = (draw_flow_svg(flow_of(part()), prefix=prefix) for prefix in ("live", "pilot"))
    assert 'id="live-title"' in live
    assert "live" not in pilot


def test_the_same_flow_gives_the_same_text():
    assert draw_flow_svg(flow_of(part())) == draw_flow_svg(flow_of(part()))


def test_no_conditions():
    with pytest.raises(ValueError, match="no conditions"):
        draw_flow_svg(ParticipantFlow(3, ()))
