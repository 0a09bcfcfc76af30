"""Examples of the reference pages run as they stand, on a planted study."""

import json
import re

import pytest

from tests.analysis.bundles import planted_study
from tests.analysis.quick_reports import build_words
from tests.paths import ROOT

PAGES = ["agreement-and-learning", "design-tools", "robustness-and-flow"]
LESS = [("resamples=2000", "resamples=20"), ("simulations=2000", "simulations=50")]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run(page, tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text("utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    for published, fewer in LESS:
        assert "resamples" not in published or published in code
        code = code.replace(published, fewer)
    scores = {f"sys-{i}": {"f1": i / 10, "loca": 0.9 - i / 10} for i in (1, 2, 3)}
    people = {"assigned": 8, "started": 7, "completed": 6, "dropped_at": {"0": 1, "3": 1}, "active": 2}
    other = people | {"completed": 7, "assigned": 7, "dropped_at": {}, "active": 0}
    arms = {name: dict(people) for name in ("one", "two", "three")} | {"truth": other}
    flow = {"modes": {"live": {"consented": 31, "conditions": arms}}}
    planted_study(tmp_path / "bundle", scores=scores, flow=flow)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, page, "exec"), names)  # noqa: S102 - the project's own pages
    assert "rng" in names
    assert capsys.readouterr().out


def test_the_code_for_notebooks_runs(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "coming-from" / "notebooks.md").read_text("utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    assert "resamples=2000" in code
    code = code.replace("resamples=2000", "resamples=20").replace("touchstone.analysis", "analysis")
    planted_study(tmp_path / "bundle", arms={"one": "sys-1", "truth": None})
    monkeypatch.setattr("analysis.report.build_report", build_words)
    gold = [{"_id": "a", "answer": "Ada", "supporting_facts": [["Ada Lovelace", 0]]}]
    (tmp_path / "hotpot_dev_distractor_v1.json").write_text(json.dumps(gold))
    predictions = {"answer": {"a": "Ada"}, "sp": {"a": [["Ada Lovelace", 0]]}}
    (tmp_path / "predictions.json").write_text(json.dumps(predictions))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "notebooks.md", "exec"), {})  # noqa: S102 - the project's own page
    score, difference = capsys.readouterr().out.splitlines()
    assert score == "1.0"
    assert "mean" in difference
    assert list((tmp_path / "report").glob("*.html"))
