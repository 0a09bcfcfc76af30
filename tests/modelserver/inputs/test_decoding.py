"""The probability of a text is that of all spans that read so.

The spans lie within sentences and across them.
"""

from collections import defaultdict

import numpy as np
import pytest

from modelserver.inputs.decoding import LONGEST, compute_text_logprob, score_allowed_spans
from modelserver.inputs.features import Vocabulary, extract_text, featurise
from modelserver.wire.schema import LEAST_LOGPROB, QAItem

ITEM = QAItem(
    id="q",
    question="Who left?",
    context=[("Ann Lee", ["Then came Ann.", " Lee left. Ann", " Lee too."]), ("Ann", ["Ann Lee left."])],
)


def test_each_text_has_the_probability_of_its_spans() -> None:
    located = featurise(ITEM, Vocabulary(()))
    start, end = np.random.default_rng(3).normal(size=(2, len(located.fact)))
    scores = score_allowed_spans(start, end, np.ones(len(located.fact), dtype=bool), located)
    by_text: defaultdict[str, float] = defaultdict(float)
    for first, width in np.argwhere(np.isfinite(scores)):
        text = extract_text(ITEM, located.place(first), located.place(first + width))
        by_text[text] += np.exp(scores[first, width])
    assert {"Ann. Lee", "Ann Lee", " Lee too"} & by_text.keys() == {"Ann. Lee", "Ann Lee"}
    total = sum(by_text.values())
    for text, weight in by_text.items():
        assert compute_text_logprob(ITEM, located, scores, text) == pytest.approx(np.log(weight / total))
    assert compute_text_logprob(ITEM, located, scores, "Bo") == LEAST_LOGPROB
    assert compute_text_logprob(ITEM, located, scores, "") == LEAST_LOGPROB


def test_without_a_span_the_empty_text_is_certain() -> None:
    located = featurise(ITEM, Vocabulary(()))
    scores = np.full((len(located.fact), LONGEST + 1), -np.inf)
    assert compute_text_logprob(ITEM, located, scores, "") == 0.0
    assert compute_text_logprob(ITEM, located, scores, "Ann") == LEAST_LOGPROB
