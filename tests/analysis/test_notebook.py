"""The notebook on the analysis without the platform runs cell by cell."""

import json
import os

from tests.paths import ROOT

NOTEBOOK = ROOT / "docs/tutorials/without-the-platform.ipynb"


def test_every_cell_runs(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        assert not cell.get("outputs")  # what it prints is not part of the project
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102 - our own page
    printed = capfd.readouterr().out
    assert "f1 '' " in printed  # the F1 ranking is neither the people's nor its reverse
    assert "farm_4 '-' desirable -1.0" in printed
    assert (tmp_path / "build/notebook/correlations/report.html").exists()
    html = (tmp_path / "build/notebook/report/report.html").read_text("utf-8")
    assert "The plan declared 1 comparisons" in html
    assert "fraction_correct plain selected 0." in printed
    assert "participants per condition" in printed
