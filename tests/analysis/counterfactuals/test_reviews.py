"""Agreement on the verdicts of people who checked instances."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.counterfactuals.drafts import draft
from analysis.counterfactuals.instances import Instance, instances_text
from analysis.counterfactuals.reviews import verdict_agreement
from tests.analysis.counterfactuals.test_instances import OLDER


def reviewed(*reviews: list[str]) -> list[Instance]:
    (instance, *_) = draft([OLDER]).instances
    return [
        instance.model_copy(update={"id": f"i{index}", "reviews": verdicts})
        for index, verdicts in enumerate(reviews)
    ]


def measure_agreement(*reviews: list[str]) -> Any:
    return verdict_agreement(reviewed(*reviews), rng=np.random.default_rng(1), resamples=50)


def test_it_works():
    """The share and alpha agree with figures by hand.

    2 of 3 pairs are alike; of 3 valid, 2 repaired and 1 rejected, 22 of 30 pairs would differ.
    """
    share, alpha = measure_agreement(
        ["valid", "valid"], ["repaired", "repaired"], ["valid", "rejected"], ["valid"]
    )
    assert share == pytest.approx(2 / 3)
    assert alpha.value == pytest.approx(1 - (1 / 3) / (22 / 30))
    assert (alpha.items, alpha.ratings) == (3, 6)


def test_who_comes_first_does_not_matter():
    first = measure_agreement(["valid", "rejected"], ["rejected", "rejected"], ["valid", "valid"])
    second = measure_agreement(["rejected", "valid"], ["rejected", "rejected"], ["valid", "valid"])
    assert first[1].value == second[1].value


@pytest.mark.parametrize("reviews", [[[]], [["valid"], ["rejected"]]])
def test_without_two_reviews_there_is_none_and_a_reason(reviews):
    share, alpha = measure_agreement(*reviews)
    assert share is None
    assert alpha.value is None
    assert "two ratings" in alpha.reason


def test_the_command(tmp_path: Path, capsys):
    path = tmp_path / "checked.jsonl"
    path.write_text(instances_text(reviewed(["valid", "valid"], ["rejected", "rejected"])), encoding="utf-8")
    assert main(["reviews", str(path)]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["alike"], summary["alpha"], summary["reviewed_twice"]) == (1.0, 1.0, 2)
    assert summary["verdicts"] == {"open": 2}
