"""The grammar writes exactly the well-typed programs.

It writes each in one way, and there is always a way to end.
"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.programs import MODULES, parse
from modelserver.modular.text.grammar import (
    MOST_NODES,
    Derivation,
    Language,
    build_derivation,
    list_all_productions,
)

LANGUAGES = st.builds(Language, st.booleans(), st.booleans(), st.booleans(), st.booleans())


@st.composite
def derivations(draw, languages=LANGUAGES):
    language, derivation = draw(languages), Derivation()
    while not derivation.done:
        derivation = derivation.take(draw(st.sampled_from(derivation.list_allowed(language))))
    return language, derivation


@settings(max_examples=150, deadline=None)
@given(derivations())
def test_every_derivation_is_a_program_that_reads_back_and_every_program_has_one(pair):
    language, derivation = pair
    program = derivation.program([f"word {n}" for n in range(len(derivation.taken))])
    assert parse(str(program), kind="spans") == program
    assert build_derivation(program) == derivation
    assert len(program.nodes) <= MOST_NODES
    assert language.can_express(program)


def test_a_language_leaves_out_what_it_cannot_use():
    def modules(language):
        return {list_all_productions()[n].module for n in Derivation().list_allowed(language)}

    everything = modules(Language())
    assert everything == set(MODULES["spans"])
    assert everything - modules(Language(extract=False)) == {"extract-answer"}
    gone = everything - modules(Language(sorting=False))
    assert gone == {"find-max-num", "find-min-num", "num-compare", "date-compare"}
    assert "find-num" not in modules(Language(numbers=False))
    assert "find-date" not in modules(Language(dates=False))
    assert Language(numbers=False, dates=False).smallest["numbers"] == math.inf


def test_it_ends_within_the_nodes_it_may_have():
    derivation = Derivation()
    for _ in range(4):
        derivation = derivation.take(
            max(
                derivation.list_allowed(Language(), most=4),
                key=lambda n: len(list_all_productions()[n].slots),
            )
        )
        if derivation.done:
            break
    assert derivation.done


def test_the_types_of_inputs_are_kept():
    for text in (
        "find-max-num(find[a])",
        "find-max-num(find-num(find[a]))",
        "subtraction(find-date(find))",
        "subtraction(find-date(find), find-date(find))",
        "subtraction(count(find), find-num(find))",
        "num-compare[less](find-num(find), find)",
    ):
        program = parse(text, kind="spans")
        assert build_derivation(program).program([n.argument for n in program.nodes]) == program


def test_a_production_that_does_not_fit_is_refused():
    count = next(n for n, production in enumerate(list_all_productions()) if production.module == "count")
    with pytest.raises(ValueError, match="count does not fit"):
        Derivation().take(count).take(count)
