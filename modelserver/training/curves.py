"""Learning curves: training loss and dev scores over the steps, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.io.whole_files import write_whole

# Colours: Okabe and Ito 2008; each curve has a marker of its own as well.
CURVES = (
    ("em", "answer EM", "#0072B2", "o"),
    ("f1", "answer F1", "#56B4E9", "x"),
    ("accuracy", "accuracy", "#0072B2", "o"),
    ("faithfulness", "faithfulness F1", "#009E73", "^"),
    ("sp_f1", "facts F1", "#D55E00", "s"),
    ("sp_recall", "facts recall", "#E69F00", "v"),
    ("joint_f1", "joint F1", "#009E73", "^"),
    ("loca_inside", "answers inside facts", "#CC79A7", "D"),
)


def draw(path: Path, rows: Sequence[Mapping[str, float | None]], title: str) -> None:
    """Draw log rows. The file appears whole or not at all.

    Args:
        path: File to write.
        rows: One for each check; a score that none of them has is left out.
        title: Shown above the curves.
    """
    with mpl.rc_context({"svg.hashsalt": "touchstone", "font.size": 9}):
        figure = Figure(figsize=(7.5, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        figure.suptitle(title)
        _plot(left, rows, "loss", "training loss", "#555555", ".")
        for key, name, colour, marker in CURVES:
            _plot(right, rows, key, name, colour, marker)
        left.set_ylabel("mean training loss")
        right.set_ylabel("on dev")
        right.set_ylim(0, 1)
        for axes in (left, right):
            axes.set_xlabel("step")
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
            axes.grid(alpha=0.3)
        if right.lines:
            right.legend(fontsize=7)
        with write_whole(path) as part:
            figure.savefig(part, format="svg", metadata={"Date": None, "Creator": None})


def _plot(
    axes: Axes, rows: Sequence[Mapping[str, float | None]], key: str, name: str, colour: str, marker: str
) -> None:
    points = [(row["step"], row[key]) for row in rows if row.get(key) is not None]
    if points:
        steps, values = zip(*points, strict=True)
        axes.plot(steps, values, color=colour, marker=marker, markersize=3, linewidth=1, label=name)
