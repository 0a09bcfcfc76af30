"""Our ordinal and linear mixed models agree with those of statsmodels.

The benchmark makes the same comparison.
"""

import pytest

from benchmarks.statistics.own_models import CLOSE, compare


@pytest.mark.filterwarnings("ignore")  # statsmodels warns of each attempt that does not converge
def test_estimates_agree_and_small_studies_reject_no_more_often():
    for our_fits, their_fits in compare(people=8, studies=4).values():
        both = [
            pair for pair in zip(our_fits.estimates, their_fits.estimates, strict=True) if None not in pair
        ]
        assert len(both) >= 3
        for ours, reference in both:
            assert ours == pytest.approx(reference, abs=CLOSE)
        assert our_fits.rejections()[0] <= their_fits.rejections()[0]
