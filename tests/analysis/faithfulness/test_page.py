"""The example of the reference page runs as it stands."""

import re

from tests.paths import ROOT


def run(page):
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(code, page, "exec"), {})  # noqa: S102 - the project's own pages


def test_the_example_runs(capsys):
    run("faithfulness")
    table, interval, worst, p = capsys.readouterr().out.splitlines()
    assert "f1=0.6" in table
    assert "method='bca'" in interval
    assert "example 12" in worst
    assert 0 < float(p) < 0.02
