"""Executing programs over spans of a passage."""

import pytest

from analysis.programs import FoundSpan, execute, is_answer_consistent, parse, run


def span(quote, start=0, value=None, of=()):
    return FoundSpan(start, start + len(quote), quote, value, tuple(of))


FIRST, SECOND, THIRD = (
    span("31-yard field goal", 100),
    span("48-yard field goal", 200),
    span("a field goal", 300),
)
THIRTY_ONE = span("31", 100, of=[FIRST[:2]])
FORTY_EIGHT = span("48", 200, of=[SECOND[:2]])


def value(text, outputs):
    return run(parse(text, kind="spans"), outputs).value


def test_it_works():
    program = parse("relocate[who kicked](find-max-num(find-num(find[field goal])))", kind="spans")
    outputs = {0: [span("Graham", 190)], 2: [THIRTY_ONE, FORTY_EIGHT], 3: [FIRST, SECOND]}
    execution = run(program, outputs)
    assert execution.values == (1, 48, None, 2)
    assert execution.objects[1] == (FORTY_EIGHT,)
    assert is_answer_consistent(program, execution, "Shayne Graham") is True
    assert is_answer_consistent(program, execution, "Nugent") is False


def test_plain_places_will_do():
    assert execute(parse("count(find[field goal])", kind="spans"), {1: [(0, 4), (7, 9)]}) == (2, 2)


@pytest.mark.parametrize(("text", "expected"), [("addition", 79), ("subtraction", 17)])
def test_arithmetic_over_numbers_in_the_text(text, expected):
    outputs = {1: [FORTY_EIGHT], 3: [THIRTY_ONE]}
    assert value(f"{text}(find-num(find[a]), find-num(find[b]))", outputs) == expected


def test_a_difference_may_be_negative_and_within_one_node_it_is_not():
    assert (
        value("subtraction(find-num(find[a]), find-num(find[b]))", {1: [THIRTY_ONE], 3: [FORTY_EIGHT]}) == -17
    )
    assert value("subtraction(find-num(find))", {1: [THIRTY_ONE, FORTY_EIGHT]}) == 17
    assert value("subtraction(find-num(find))", {1: [THIRTY_ONE]}) is None


def test_counts_are_numbers_too():
    text = "subtraction(count(find[a]), count(find[b]))"
    assert value(text, {2: [FIRST, SECOND], 4: [THIRD]}) == 1


def test_years_between_dates():
    dates = {1: [span("1 September 1687")], 3: [span("1715", 50)]}
    assert value("subtraction(find-date(find[a]), find-date(find[b]))", dates) == 28
    assert value("subtraction(find-date(find))", {1: [span("1715"), span("1745", 9)]}) == 30


@pytest.mark.parametrize(("direction", "winner"), [("greater", SECOND), ("less", FIRST)])
def test_comparing_numbers_gives_the_event(direction, winner):
    program = parse(f"num-compare[{direction}](find-num(find[a]), find-num(find[b]))", kind="spans")
    outputs = {1: [THIRTY_ONE], 2: [FIRST], 3: [FORTY_EIGHT], 4: [SECOND]}
    assert run(program, outputs).objects[0] == (winner,)


@pytest.mark.parametrize(("direction", "winner"), [("earlier", SECOND), ("later", FIRST)])
def test_comparing_dates_gives_the_event(direction, winner):
    program = parse(f"date-compare[{direction}](find-date(find[a]), find-date(find[b]))", kind="spans")
    outputs = {1: [span("2003")], 2: [FIRST], 3: [span("September 1998")], 4: [SECOND]}
    assert run(program, outputs).objects[0] == (winner,)


def test_the_event_of_a_number_chosen_on_the_way_is_the_one_linked():
    text = "num-compare[greater](find-max-num(find-num(find[a])), find-num(find[b]))"
    outputs = {2: [THIRTY_ONE, FORTY_EIGHT], 3: [FIRST, SECOND], 4: [span("7")], 5: [THIRD]}
    assert run(parse(text, kind="spans"), outputs).objects[0] == (SECOND,)


@pytest.mark.parametrize("numbers", [("31", "31"), ("31", "some")])
def test_a_tie_or_a_number_that_cannot_be_read_is_unknown(numbers):
    program = parse("num-compare[less](find-num(find[a]), find-num(find[b]))", kind="spans")
    outputs = {1: [span(numbers[0])], 2: [FIRST], 3: [span(numbers[1])], 4: [SECOND]}
    assert run(program, outputs).value is None


def test_the_largest_may_be_several_and_a_person_may_overrule():
    text = "count(find-max-num(find-num(find)))"
    assert value(text, {2: [FORTY_EIGHT, THIRTY_ONE, FORTY_EIGHT._replace(start=0)]}) == 2
    assert value(text, {1: [THIRTY_ONE], 2: [FORTY_EIGHT, THIRTY_ONE]}) == 1


def test_in_the_short_form_the_spans_state_their_numbers_themselves():
    assert run(parse("find-max-num(find)", kind="spans"), {1: [FIRST, SECOND]}).objects[0] == (SECOND,)
    assert run(parse("find-max-num(find)", kind="spans"), {1: [FIRST, THIRD]}).objects[0] is None


def test_a_number_read_by_a_person_goes_before_the_quote():
    assert value("find-num(find)", {0: [span("two dozen", value=24)]}) == 24


def test_what_nobody_looked_at_is_unknown():
    text = "subtraction(find-num(find[a]), find-num(find[b]))"
    assert execute(parse(text, kind="spans"), {1: [FORTY_EIGHT]}) == (None, 48, None, None, None)


@pytest.mark.parametrize(
    ("answer", "expected"), [(48, True), ("48", True), ("forty-eight", True), ("8-yard", False)]
)
def test_numbers_agree_by_value(answer, expected):
    program = parse("find-num(find)", kind="spans")
    assert is_answer_consistent(program, run(program, {0: [FORTY_EIGHT]}), answer) is expected


def test_several_spans_may_be_one_answer():
    program = parse("find[kickers]", kind="spans")
    execution = run(program, {0: [span("Prater", 50), span("Brown", 0)]})
    assert is_answer_consistent(program, execution, "Brown Prater") is True
