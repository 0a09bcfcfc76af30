"""Saliency of formulas whose attributions are known by hand."""

import numpy as np
import pytest
import torch

from modelserver.saliency import attribution
from modelserver.saliency.attribution import explain, summarise_by_unit
from modelserver.wire.errors import PredictionFailed
from modelserver.wire.schema import SaliencyOptions
from tests.modelserver.saliency.toys import ITEM, Toy

ROWS = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.0], [-2.0, 1.0], [4.0, 4.0]]
WEIGHTS = torch.tensor([[2.0, 1.0], [-1.0, 3.0], [4.0, 5.0], [1.0, 1.0], [0.0, 0.5]], dtype=torch.float64)


def linear(rows):
    return (WEIGHTS * rows).sum()


def run(toy, method="integrated-gradients", **options):
    (explanation,) = explain(toy, [ITEM], SaliencyOptions(method=method, **options), revision="r1")
    return explanation


def scores(explanation):
    return [score.score for score in explanation.scores]


def test_it_works():
    explanation = run(Toy(linear, ROWS), summary="dot")
    assert scores(explanation) == pytest.approx([4.0, -6.0, 2.0, -1.0, 2.0])
    assert (explanation.id, explanation.revision, explanation.first, explanation.last) == ("a", "r1", 0, 1)
    assert explanation.value == pytest.approx(1.0)
    assert explanation.baseline_value == 0.0
    assert explanation.delta == pytest.approx(0.0, abs=1e-12)
    assert [(s.article, s.title, s.index, s.start, s.end) for s in explanation.scores] == [
        (None, None, None, 0, 1),
        (None, None, None, 1, 3),
        (None, None, None, 4, 8),
        (0, "Band", None, 0, 4),
        (0, "Band", 0, 0, 4),
    ]


class TestIntegratedGradients:
    def test_a_product_is_shared_between_its_factors(self):
        explanation = run(Toy(lambda x: x[0, 0] * x[1, 0], [[3.0], [5.0]]), summary="dot")
        assert scores(explanation) == pytest.approx([7.5, 7.5])

    def test_a_square_against_a_baseline(self):
        toy = Toy(lambda x: x.square().sum(), [[3.0], [5.0]], [[1.0], [-2.0]])
        explanation = run(toy, summary="dot")
        assert scores(explanation) == pytest.approx([9.0 - 1.0, 25.0 - 4.0])  # x² - b², each by itself
        assert explanation.baseline_value == pytest.approx(5.0)

    @pytest.mark.parametrize("seed", range(3))
    def test_completeness(self, seed):
        generator = torch.Generator().manual_seed(seed)
        weights = torch.randn(5, 2, 8, generator=generator, dtype=torch.float64)
        last = torch.randn(8, generator=generator, dtype=torch.float64)
        rows, baseline = torch.randn(2, 5, 2, generator=generator, dtype=torch.float64)
        toy = Toy(lambda x: torch.tanh(torch.einsum("nd,ndh->h", x, weights)) @ last, rows, baseline)
        explanation = run(toy, summary="dot", steps=200)
        assert sum(scores(explanation)) == pytest.approx(
            explanation.value - explanation.baseline_value, abs=1e-4
        )
        assert explanation.delta == pytest.approx(
            sum(scores(explanation)) - (explanation.value - explanation.baseline_value), abs=1e-9
        )

    def test_too_few_steps_show_in_the_delta(self):
        def bent(x):
            return torch.exp(x[0, 0])

        few, many = (run(Toy(bent, [[4.0]]), summary="dot", steps=steps) for steps in (1, 8))
        # One step takes the gradient in the middle: 4 e² against e⁴ - 1.
        assert few.delta == pytest.approx(4 * np.exp(2) - (np.exp(4) - 1))
        assert abs(many.delta) < 1e-6

    def test_an_input_without_effect_gets_nothing(self):
        assert scores(run(Toy(lambda x: x[0].sum(), ROWS), summary="l1"))[1:] == [0.0] * 4


class TestOcclusion:
    def test_it_is_the_loss_of_score_without_the_token(self):
        def formula(x):
            return torch.relu(x[0, 0] * x[4, 1] - x[3, 0]) + x[1].sum()

        toy = Toy(formula, ROWS, torch.full((5, 2), 0.25))
        whole = float(formula(toy.rows))
        expected = []
        for row in range(5):
            masked = toy.rows.clone()
            masked[row] = 0.25
            expected.append(whole - float(formula(masked)))
        explanation = run(toy, "occlusion")
        assert scores(explanation) == pytest.approx(expected)
        assert len(set(expected)) == 5
        assert (explanation.baseline_value, explanation.delta) == (None, None)

    def test_a_words_tokens_go_together(self):
        toy = Toy(lambda x: torch.maximum(x[0, 0], x[1, 0]), [[3.0], [3.0], [1.0]])
        assert scores(run(toy, "occlusion")) == [0.0, 0.0, 0.0]  # either token makes up for the other
        assert scores(run(toy, "occlusion", level="word")) == [3.0, 0.0]

    def test_the_system_is_told_what_is_hidden(self):
        toy = Toy(linear, ROWS)
        run(toy, "occlusion", level="word")
        assert toy.hidden == [None, [0, 1], [2], [3], [4]]


class TestGradientTimesInput:
    def test_it_is_that(self):
        toy = Toy(lambda x: (WEIGHTS * x.square()).sum(), ROWS)
        expected = (2 * WEIGHTS * toy.rows.square()).sum(1)
        explanation = run(toy, "gradient-x-input", summary="dot")
        assert scores(explanation) == pytest.approx(expected.tolist())
        assert toy.passes == [1]


class TestSummaries:
    def test_of_rows_and_of_words(self):
        attributed = torch.tensor([[3.0, -4.0], [1.0, 2.0], [0.0, -2.0]])
        alone, joined = np.arange(3), np.array([0, 0, 1])
        assert summarise_by_unit(attributed, alone, "l1") == pytest.approx([7, 3, 2])
        assert summarise_by_unit(attributed, alone, "l2") == pytest.approx([5, 5**0.5, 2])
        assert summarise_by_unit(attributed, alone, "dot") == pytest.approx([-1, 3, -2])
        assert summarise_by_unit(attributed, joined, "l1") == pytest.approx([10, 2])
        assert summarise_by_unit(attributed, joined, "l2") == pytest.approx([30**0.5, 2])
        assert summarise_by_unit(attributed, joined, "dot") == pytest.approx([2, -2])

    def test_a_word_has_the_places_of_all_its_tokens(self):
        explanation = run(Toy(linear, ROWS), summary="dot", level="word")
        assert [(s.title, s.start, s.end) for s in explanation.scores] == [
            (None, 0, 3),
            (None, 4, 8),
            ("Band", 0, 4),
            ("Band", 0, 4),
        ]
        assert scores(explanation) == pytest.approx([-2.0, 2.0, -1.0, 2.0])
        assert (explanation.first, explanation.last) == (0, 0)


class TestPasses:
    def test_items_share_passes_and_one_is_not_split_from_its_result(self, monkeypatch):
        items = [ITEM.model_copy(update={"id": str(number)}) for number in range(7)]
        options = SaliencyOptions(steps=4, summary="dot")
        together = Toy(linear, ROWS)
        whole = explain(together, items, options, revision="r")
        assert together.passes == [28, 14]
        monkeypatch.setattr(attribution, "PASS_TOKENS", 15)  # three jobs
        apart = Toy(linear, ROWS)
        assert explain(apart, items, options, revision="r") == whole
        assert max(apart.passes) == 3
        assert [explanation.id for explanation in whole] == [item.id for item in items]

    def test_no_items_need_no_pass(self):
        assert explain(Toy(linear, ROWS), [], SaliencyOptions(), revision="r") == []


class TestWhatGoesWrong:
    def test_a_score_that_is_no_number(self):
        with pytest.raises(PredictionFailed, match="not a finite number"):
            run(Toy(lambda x: x[0, 0] / 0, ROWS))

    def test_scores_of_a_wrong_shape(self):
        with pytest.raises(ValueError, match=r"shape \(4, 2\), not \(4,\)"):
            run(Toy(lambda x: x[0], ROWS), steps=4)
