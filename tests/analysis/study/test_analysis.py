"""The two views of a study: the retained trials, and all of them."""

import pytest

from analysis.participants.bundle import load_bundle
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study, rules


@pytest.mark.parametrize(("some", "is_one"), [([], True), (rules(), False)])
def test_trials_are_analysed_twice_only_where_some_are_left_out(tmp_path, some, is_one):
    finished: list[int] = []
    bundle = load_bundle(planted_study(tmp_path / "study", rules=some, items=30))
    study = analyse(bundle, Options(resamples=4), advance=finished.append)
    assert (study.everything is study.retained) is is_one
    assert (len(study.everything.trials) == len(study.retained.trials)) is is_one
    assert sum(finished) == 2 * 4
