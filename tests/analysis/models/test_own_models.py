"""Our ordinal and linear mixed models against those of statsmodels, as the benchmark compares them."""

import pytest

from benchmarks.statistics.own_models import CLOSE, compare


@pytest.mark.filterwarnings("ignore")  # statsmodels warns of each attempt that does not converge
def test_estimates_agree_and_small_studies_reject_no_more_often():
    for own, theirs in compare(people=8, studies=4).values():
        both = [pair for pair in zip(own.estimates, theirs.estimates, strict=True) if None not in pair]
        assert len(both) >= 3
        for ours, reference in both:
            assert ours == pytest.approx(reference, abs=CLOSE)
        assert own.rejections()[0] <= theirs.rejections()[0]
