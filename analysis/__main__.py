"""Command line of the analysis: ``python -m analysis COMMAND``.

Exit status: 0 done, 1 the command failed (the reason is one line on standard error), 2 bad usage.
"""

import sys
from collections.abc import Sequence

from cyclopts import App

from . import __version__
from .io.command_line import build_command_line, run
from .io.errors import AnalysisError

# Name, module and function, and help of each command. A module is imported when its command runs, because
# the science libraries take seconds.
COMMANDS = (
    ("report", "report:write_report", "Analyse a study and write its report."),
    ("correlate", "correlate:write_correlations", "Relate human measures to model scores."),
    ("xqa-scores", "xqa_scores:print_xqa_scores", "Print HotpotQA's official scores as JSON."),
    ("compare-faithfulness", "faithfulness:print_comparison", "Compare two systems with a permutation test."),
    ("agreement", "agreement:print_agreement", "Measure inter-annotator agreement of a gold file."),
    ("visual-bias", "visual_bias:print_visual_bias", "Measure how much image pairs give labels away."),
    ("alignment", "alignment:print_alignment", "Test whether systems answer for the expected reasons."),
    ("counterfactuals", "counterfactuals:write_counterfactuals", "Draft counterfactual questions."),
    ("reviews", "counterfactuals:print_reviews", "Print agreement on checked counterfactuals."),
    ("power", "power:print_sample_size", "Find the sample size by simulation (power analysis)."),
    ("interim", "interim:print_boundaries", "Compute boundaries for interim analyses."),
    ("preregister", "preregister:print_preregistration", "Print a pre-registration of a frozen study."),
)
# Commands of several kinds: name and help of each, and its kinds as above.
GROUPS = (
    (
        "faithfulness",
        "Score the modules of a system against gold.",
        (
            ("boxes", "faithfulness:print_box_scores", "Score boxes in images: precision, recall and F1."),
            ("spans", "faithfulness:print_span_scores", "Score spans of text: cross-entropy of attentions."),
        ),
    ),
    (
        "reproduce",
        "Put the numbers of a publication beside ours.",
        (
            (
                "schuff2020",
                "reproduce:reproduce_schuff2020",
                "Reproduce the user study of Schuff, Adel and Vu (2020).",
            ),
            (
                "subramanian2020",
                "reproduce:reproduce_subramanian2020",
                "Reproduce the gold data of Subramanian and others (2020).",
            ),
            (
                "suhr2019",
                "reproduce:reproduce_suhr2019",
                "Reproduce the visual bias of Suhr and Artzi (2019).",
            ),
        ),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    app = build_command_line(
        f"python -m {__package__}", "Statistics and reports from plain files.", __version__
    )
    add_commands(app)
    return run(app, arguments, (AnalysisError,))


def add_commands(app: App, group: str | None = None) -> None:
    """Add the commands of the analysis to an app.

    Args:
        app: The command line to extend.
        group: Heading for these commands in the help.
    """
    modules = f"{__package__}.commands"
    for name, function, text in COMMANDS:
        app.command(f"{modules}.{function}", name=name, help=text, group=group)
    app.command(f"{modules}.interim:print_boundaries", name="looks", show=False)  # the name until 0.1
    for command, description, members in GROUPS:
        kinds = build_command_line(command, description, __version__)
        for name, function, text in members:
            kinds.command(f"{modules}.{function}", name=name, help=text)
        if group:
            kinds.group = group
        app.command(kinds)


if __name__ == "__main__":
    sys.exit(main())
