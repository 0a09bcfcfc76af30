"""Figures for papers: widths, forms, fonts, and the same bytes again."""

import re
import struct

import pytest

from analysis.participants.bundle import load_bundle
from analysis.report.plots.intervals import CHI, COLUMN, PNG_DPI, draw_condition_figure, prepare_flow_prints
from analysis.report.sections.participants import count_participant_flow
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study

pytestmark = pytest.mark.paper_figures


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = planted_study(tmp_path_factory.mktemp("study"), arms={"one": "sys-1", "two": "sys-2"})
    return analyse(load_bundle(folder), Options(resamples=20))


def files_of(study):
    figure = draw_condition_figure(study, "agreement", "")
    assert figure is not None
    return dict(figure.files())


def test_figures_have_the_widths_of_paper_columns(study):
    files = files_of(study)
    assert set(files) == {
        f"figures/{folder}agreement-by-condition.{form}"
        for folder in ("", "chi/")
        for form in ("svg", "pdf", "png")
    }
    for folder, width in (("", COLUMN), ("chi/", CHI[COLUMN])):
        png = files[f"figures/{folder}agreement-by-condition.png"]
        assert struct.unpack(">I", png[16:20])[0] == pytest.approx(width * PNG_DPI, abs=1)
        [box] = re.findall(rb"MediaBox \[ 0 0 ([\d.]+)", files[f"figures/{folder}agreement-by-condition.pdf"])
        assert float(box) == pytest.approx(72 * width, abs=0.1)


def test_fonts_are_embedded_as_truetype(study):
    for files in (files_of(study), prepare_flow_prints(count_participant_flow(study))("flow")):
        for name, content in files.items():
            if name.endswith(".pdf"):
                assert b"/FontFile2" in content, name
                assert b"/Type3" not in content, name


def test_the_same_study_gives_the_same_bytes(study):
    assert files_of(study) == files_of(study)


@pytest.mark.parametrize("title", [r"pay $\frac{$", "pay $5 or $6", r"$\alpha$"])
def test_dollars_in_titles_are_dollars(tmp_path, title):
    arms = {title: "sys-1", "two": "sys-2"}
    study = analyse(load_bundle(planted_study(tmp_path, arms=arms)), Options(resamples=20))
    drawn = files_of(study)["figures/agreement-by-condition.svg"].decode()
    assert f"<!-- {title} " in drawn  # matplotlib notes the text of each outline; n follows the title


def test_n_is_on_the_figure(study):
    figure = draw_condition_figure(study, "agreement", "")
    assert figure is not None
    assert "6 participants" in figure.alternative
