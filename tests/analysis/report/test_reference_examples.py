"""The examples of the reference pages run as they stand, on a planted study."""

import re

import pytest

from tests.analysis.bundles import planted_study
from tests.paths import ROOT

PAGES = ["agreement-and-learning", "design-tools", "robustness-and-flow"]
LESS = [("resamples=2000", "resamples=20"), ("simulations=2000", "simulations=50")]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run(page, tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text("utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    for given, fewer in LESS:
        assert "resamples" not in given or given in code
        code = code.replace(given, fewer)
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
