"""The parser writes typed programs alone, scored as they are found.

Its attention sums to one.
"""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.programs import parse
from modelserver.modular.text.grammar import MOST_NODES, Language, build_derivation, list_all_productions
from modelserver.modular.text.parser import Parser
from tests.modelserver.modular.text.networks import WIDTH
from tests.modelserver.modular.text.test_grammar import LANGUAGES


@settings(max_examples=40, deadline=None)
@given(LANGUAGES, st.integers(0, 10_000), st.integers(1, 6), st.floats(0.1, 20))
def test_whatever_its_weights_it_writes_typed_programs_alone(language, seed, words, spread):
    torch.manual_seed(seed)
    parser = Parser(WIDTH).eval()
    with torch.no_grad():
        for parameter in parser.parameters():
            parameter.mul_(spread)
        question = torch.randn(words, WIDTH)
        derivations = parser.beam(question, language, 3)
        parses = parser.force(question, derivations, language)
    assert derivations
    for derivation, parsed in zip(derivations, parses, strict=True):
        program = derivation.program()
        assert parse(str(program), kind="spans") == program
        assert len(program.nodes) <= MOST_NODES
        assert language.can_express(program)
        assert parsed.derivation == derivation
        for node, attention in zip(program.nodes, parsed.asked, strict=True):
            assert (attention is not None) == (node.module in ("find", "filter", "relocate"))
            assert attention is None or attention.sum().item() == pytest.approx(1, abs=1e-5)
    scores = [float(parsed.score) for parsed in parses]
    assert all(later <= score + 1e-3 * (1 + abs(score)) for score, later in pairwise(scores))


def test_probabilities_of_all_short_programs_sum_to_one():
    torch.manual_seed(2)
    parser, question = Parser(WIDTH).eval(), torch.randn(4, WIDTH)
    language = Language(extract=True, sorting=False, numbers=False, dates=False)
    with torch.no_grad():
        derivations = parser.beam(question, language, 2_000)
        scores = torch.stack([parsed.score for parsed in parser.force(question, derivations, language)])
    assert len({derivation.taken for derivation in derivations}) == len(derivations)
    assert 0.8 < scores.exp().sum() <= 1 + 1e-4


def test_a_forced_program_has_gradients_and_rows_do_not_touch_each_other():
    torch.manual_seed(1)
    parser, question = Parser(WIDTH), torch.randn(5, WIDTH)
    texts = ("count(filter(find))", "find", "subtraction(find-num(find), find-num(find))")
    derivations = [build_derivation(parse(text, kind="spans")) for text in texts]
    together = parser.force(question, derivations, Language())
    for batched, derivation in zip(together, derivations, strict=True):
        (parsed,) = parser.force(question, [derivation], Language())
        assert torch.allclose(parsed.score, batched.score, atol=1e-6)
        for attention, batched_attention in zip(parsed.asked, batched.asked, strict=True):
            assert (attention is None) == (batched_attention is None)
            assert attention is None or torch.allclose(attention, batched_attention, atol=1e-6)
    torch.stack([parsed.score for parsed in together]).sum().backward()
    assert all(p.grad is not None for n, p in parser.named_parameters() if not n.startswith("ask"))


def test_a_program_of_another_language_can_be_forced():
    parser, question = Parser(WIDTH).eval(), torch.randn(3, WIDTH)
    derivation = build_derivation(parse("extract-answer", kind="spans"))
    (parsed,) = parser.force(question, [derivation], Language(extract=False))
    assert torch.isfinite(parsed.score)
    assert list_all_productions()[derivation.taken[0]].module == "extract-answer"
