"""The report on a study: puts the sections together."""

import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version as installed_version

from .. import __version__
from ..participants.exclusion_rules import CLOCK_LABELS
from ..participants.study_version import Kind
from ..planning.declared_plan import Plan, read_frozen_plan
from ..study.analysis import Study
from ..study.human_vs_model import Relations
from ..study.inference import Inference, infer
from ..study.leave_one_out import leave_one_out
from .page import Details, Page, Points, Script, Section, Text
from .r_script import render_study_script
from .sections.against_scores import build_all_scores_section
from .sections.behaviour import build_behaviour_section, describe_behaviour
from .sections.conditions import SHORT, build_differences_section, build_styles_section
from .sections.correctness import build_correctness_section
from .sections.correlations import (
    NOTHING_TO_RESAMPLE,
    OVER_PARTICIPANTS,
    SWITCHED_OFF,
    TWO_WAY,
    build_correlations_section,
)
from .sections.exclusions import NOTHING_LEFT, build_exclusions_section
from .sections.models import build_models_section
from .sections.not_found import build_undetected_section
from .sections.participants import (
    DRAWN,
    build_figures_section,
    build_measures_section,
    build_missing_section,
    build_participants_section,
)
from .sections.preferences import build_preferences_section
from .sections.robustness import build_choices_section, build_left_out_block, try_choices
from .sections.sample import build_sample_section
from .sections.scales import build_scales_section
from .sections.summary import build_summary_section
from .sections.systems import build_ranks_section, build_scores_section
from .tables import Table, format_count, tabulate_inputs, tabulate_values

BANNERS = {
    "bot": "These participants are programs, not people. The report shows that the study and the analysis "
    "run; it says nothing about people's judgement of the systems.",
    "pilot": "This is a pilot. Its participants do not count for the study.",
    "live": "",
}
MEASURED: dict[Kind, str] = {  # how the report describes the measures
    "verification": "Over-estimation is agreement minus the system's accuracy over the same trials. False "
    "positives, false negatives, true positives and true negatives are shares of all responses; rates per "
    "actual class have names of their own. d′ and c use the log-linear correction.",
    "advice": "RAIR is the share of right final answers where the first answer was wrong and the advice "
    "right, RSR where the first answer was right and the advice wrong (Schemmer et al. 2023); over-reliance "
    "is 1 − RSR, under-reliance 1 − RAIR. Complementarity is final accuracy minus the better of the "
    "participant's first answers and the system's, on the same trials (Bansal et al. 2021).",
    "simulation": "The effect on predictions is accuracy after the learning block minus accuracy before it, "
    "within participants (Hase and Bansal 2020). Accuracy above chance is the mean of right minus 1 / "
    "options. d′ takes “yes” (or “it will be right”) as the signal, where these two are the options, with "
    "the log-linear correction.",
    "preference": "The win rate is the share of comparisons that a condition wins, with ties as halves. "
    "Strengths are those of Bradley and Terry (1952) with ties by Davidson (1970), fitted by maximum "
    "likelihood over all comparisons; their logarithms have the mean 0, and their 95 % intervals are "
    "percentiles over resampled participants, widened for few. Side bias is the share of decided comparisons "
    "that prefer the left side, participants first.",
    "counterfactual": "Coverage is the share of answers that are not “cannot tell”, precision the share of "
    "right predictions among them (Chen et al. 2024). Accuracy above chance is the mean of right minus 1 / "
    "options; “cannot tell” counts 0 there, which a guess would reach on average.",
}
TASK_SENTENCES: dict[Kind, tuple[str, ...]] = {  # of the paragraph for a paper
    "advice": (
        "Participants gave an answer, saw the system's advice, and gave a final answer. Over-reliance is the "
        "share of right first answers given up for wrong advice, under-reliance the share of wrong first "
        "answers that right advice did not correct (1 − RSR and 1 − RAIR of Schemmer et al. 2023); "
        "complementarity is final accuracy minus the better of the participant's first answers and the "
        "system's (Bansal et al. 2021).",
    ),
    "simulation": (
        "Participants predicted the system's answers in a block before and a block after a learning block, "
        "which showed its answers. The effect is accuracy after minus accuracy before, within participants, "
        "compared with that of participants who saw answers without explanations (Hase and Bansal 2020).",
    ),
    "preference": (
        "Participants saw two conditions side by side and said which is better. Win rates count ties as "
        "halves; strengths were fitted by Davidson's (1970) extension of the Bradley-Terry model to ties, "
        "with intervals over resampled participants.",
    ),
    "counterfactual": (
        "Participants saw an answer of the system and predicted its answer to a changed item, or said that "
        "they could not tell. Coverage is the share of answers with a prediction, precision the share of "
        "right ones among them (Chen et al. 2024); accuracy above chance is the share of right predictions "
        "minus that of guesses among the options, with “cannot tell” as a guess.",
    ),
}
OPEN = ("measures", "preferences", "differences", "ranks")  # parts that are open at first
LIBRARIES = ("numpy", "scipy", "statsmodels", "pandas", "pyarrow", "matplotlib", "jinja2", "pydantic")


def build_report(study: Study, plan: Plan | None = None) -> Page:
    """Build the whole report as a page, not yet rendered.

    The answers come first, then what they rest on, in the order of a paper; the page shows the
    main parts at once and the others on request.

    Args:
        study: The analysed study.
        plan: Plan declared before the data, which replaces that of the study's version; without either all
            comparisons are exploratory.

    Returns:
        The page; `write_page` renders it.

    Raises:
        AnalysisError: The plan names something that the study lacks.
    """
    if study.exclusions.excluded == study.exclusions.total:
        return _build_empty_report(study)
    inference = infer(study, plan or read_frozen_plan(study.version))
    sections = (_build_pair_sections if study.task.pairs else _build_trial_sections)(study, inference)
    return _build_page(study, [build_summary_section(study, inference), *filter(None, sections)])


def _build_trial_sections(study: Study, inference: Inference) -> list[Section | None]:
    """Build the sections of a study whose trials show one condition each."""
    return [
        build_sample_section(study),
        build_participants_section(study),
        build_exclusions_section(study),
        build_correctness_section(study),
        build_measures_section(study),
        build_scales_section(study),
        build_figures_section(study),
        build_differences_section(study, inference),
        build_undetected_section(study, inference),
        build_styles_section(study, inference),
        build_models_section(study, inference),
        *_build_relation_sections(study, inference),
        build_behaviour_section(study, describe_behaviour(study)),
        build_choices_section(study, try_choices(study)),
        _build_methods_section(study, inference),
        build_missing_section(study),
        _build_reproduction_section(study),
    ]


def _build_pair_sections(study: Study, inference: Inference) -> list[Section | None]:
    """Build the sections of a study whose trials show two conditions each."""
    return [
        build_sample_section(study),
        build_participants_section(study),
        build_exclusions_section(study),
        build_measures_section(study),
        build_preferences_section(study),
        build_differences_section(study, inference),
        build_undetected_section(study, inference),
        build_styles_section(study, inference),
        *_build_relation_sections(study, inference),
        _build_methods_section(study, inference),
        build_missing_section(study),
        _build_reproduction_section(study),
    ]


def _build_relation_sections(study: Study, inference: Inference) -> list[Section | None]:
    """Build the sections that relate people to scores."""
    names = [(condition.title, condition.system or "") for condition in study.systems]
    relations, plan = study.retained.relations, inference.plan
    intervals = TWO_WAY if study.options.resamples else SWITCHED_OFF
    return [
        build_scores_section(names, study.scores, study.unused_scores, relations.scores),
        build_ranks_section(relations, study.everything.relations, plan=plan),
        build_correlations_section(relations, intervals=intervals, plan=plan),
        build_all_scores_section(study, plan),
    ]


def _build_empty_report(study: Study) -> Page:
    """Build the report of a study whose rules exclude every trial."""
    sections = [
        build_sample_section(study),
        build_participants_section(study),
        build_exclusions_section(study),
    ]
    return _build_page(
        study,
        [Section("summary", "In short", [Text(NOTHING_LEFT)]), *sections, _build_reproduction_section(study)],
    )


def _build_page(study: Study, sections: Sequence[Section]) -> Page:
    """Put the sections on a page, all but the first in parts that close."""
    leads = _build_leads(study)
    parts = [
        replace(section, lead=leads.get(section.name, ""), is_open=section.name in OPEN)
        for section in sections[1:]
    ]
    return Page(study.bundle.study.title, _write_banner(study), _list_facts(study), [sections[0], *parts])


def _build_leads(study: Study) -> dict[str, str]:
    """Return a sentence beside the heading of a section, by its name."""
    exclusions, relations = study.exclusions, study.retained.relations
    return {
        "sample": format_count(len(study.people), "participant"),
        "participants": f"{format_count(len(study.people), 'participant')} in "
        f"{format_count(len(study.conditions), 'condition')}",
        "exclusions": f"{exclusions.excluded} of {format_count(exclusions.total, 'trial')}",
        "figures": "answers, participants and times",
        "models": "the same comparisons under other assumptions",
        "scores": f"{len(relations.scores)} scores of {len(study.systems)} systems",
        "correlations": f"over {len(relations.systems)} systems",
        "all-scores": "a panel per score",
        "behaviour": "learning, calibration and agreement",
        "choices": "other rules and averages, other sets of systems",
        "methods": "with a paragraph for a paper",
        "reproduction": "command, versions and hashes",
    }


def _list_facts(study: Study) -> dict[str, str]:
    return {
        "Study": study.bundle.study.study,
        "Version": str(study.version.version),
        "Participants": f"{len(study.people)} ({study.mode})",
        "Trials": f"{len(study.trials)}, {study.exclusions.excluded} excluded",
        "Conditions": f"{len(study.conditions)}, {study.allocation.words}",
        "Systems": str(len(study.systems)),
    }


def _write_banner(study: Study) -> str:
    """Return a warning to show above everything; empty if there is none."""
    sentences = [BANNERS[study.mode]]
    if simulated := sorted(study.people["behaviour"].dropna().unique()):
        sentences.append(f"Simulated behaviour: {'; '.join(simulated)}.")
    if study.exclusions.excluded == study.exclusions.total:
        sentences.append(NOTHING_LEFT)
    return " ".join(filter(None, sentences))


def build_correlation_report(relations: Relations, sources: dict[str, str], plan: Plan | None = None) -> Page:
    """Build the page of a rank table and correlations of two plain tables.

    Args:
        relations: Measures related to scores.
        sources: SHA-256 by file name.
        plan: Declared scores, coefficient and share.
    """
    resampled = any(measure.replicates is not None for measure in relations.measures)
    left_out = leave_one_out(relations.systems, relations.measures, relations.scores)
    return Page(
        title="Human measures against model scores",
        banner="",
        facts={
            "Systems": ", ".join(relations.systems),
            "Human measures": str(len(relations.measures)),
            "Model scores": str(len(relations.scores)),
        },
        sections=[
            build_ranks_section(relations, plan=plan, drawn="participants"),
            build_correlations_section(
                relations, intervals=OVER_PARTICIPANTS if resampled else NOTHING_TO_RESAMPLE, plan=plan
            ),
            Section("left-out", "Each system left out", [build_left_out_block(relations, left_out)]),
            Section("reproduction", "To reproduce this", [_tabulate_versions(), tabulate_inputs(sources)]),
        ],
    )


def _build_methods_section(study: Study, inference: Inference) -> Section:
    """Describe the methods, ready for a paper."""
    clock = CLOCK_LABELS[study.clock] if study.clock else "no clock"
    sentences = [
        "Measures are computed for every participant over the retained trials and then averaged over the "
        "participants of a condition; the mean leaves out undefined values, and the tables count them.",
        MEASURED[study.version.task.kind],
        f"Completion times are those of {clock}.",
        _describe_interval_method(study),
        "The rank table follows Schuff, Adel and Vu (2020), section 6.6; the correlations follow their "
        "appendix H. Values that agree to 12 digits are ties.",
        f"Conditions are compared on these items by {_describe_permutations(inference)}, and on items like "
        "these by a quasi-F over participants and items, each with its own intervals and Holm's correction "
        "over the family; models of single trials count participants (and items) as clusters. No test "
        "treats trials as independent.",
    ]
    paragraph = Text(write_methods_paragraph(study, inference))
    how = Details("Computation of each part", [Points(sentences)])
    return Section("methods", "Methods", [Text("Paragraph for a paper:"), paragraph, how])


def write_methods_paragraph(study: Study, inference: Inference) -> str:
    """Write the methods paragraph for a paper, true of this study."""
    exclusions, options = study.exclusions, study.options
    between = study.allocation.design == "between"
    size = inference.family.size
    family = (
        f"The {size} pre-registered comparisons were tested"
        if inference.declared
        else f"{size} comparisons of the main measures were tested as exploratory"
    )
    sentences = [
        f"{format_count(len(study.people), 'participant')} in {len(study.conditions)} "
        f"{study.allocation.words} conditions submitted {format_count(exclusions.total, 'trial')}, "
        f"of which {exclusions.excluded} were excluded by the study's rules.",
        "Measures were computed per participant and averaged over the participants of a condition.",
        *TASK_SENTENCES.get(study.version.task.kind, ()),
        f"{family} for two claims: about items like these, with participants and items as samples, by t of a "
        "quasi-F over both (Clark 1973; Satterthwaite's degrees of freedom), and about these items, by "
        f"{_describe_permutations(inference)} ({inference.plan.permutations} permutations, two-sided, "
        "+1 correction; Phipson and Smyth 2010). Confidence intervals hold the differences that the same "
        "test does not reject; p was corrected by Holm's (1979) method"
        + (
            f"; the confirmatory claim was that {SHORT[inference.plan.target]}."
            if inference.declared
            else "."
        ),
    ]
    if options.resamples:
        sentences.append(
            "Confidence intervals of measures are percentiles of a two-way bootstrap of participants and "
            f"items ({options.resamples} replicates, seed {options.seed}; Owen 2007), widened for few "
            "participants (Hesterberg 2015)."
            + ("" if between else " Participants were drawn with all the conditions that they saw.")
        )
    fitted = [label for label, model in inference.models.items() if not model.reason]
    if fitted:
        sentences.append(
            "As a check, single trials were modelled by a logistic GEE with bias-reduced covariance (binary "
            "answers), a linear mixed model of log time with crossed participants and items"
            f"{_describe_nesting(study)}, and a proportional-odds model with covariance clustered "
            "by participant (ratings)"
            + ("." if between else "; all adjust for the position in the order if it is known.")
        )
    if any(not inference.mixed[label].reason for label in fitted):
        sentences.append(
            "For items like these, logistic and proportional-odds mixed models had participants, items and "
            "items within conditions as crossed random effects (Laplace approximation; Bates et al. 2015)."
        )
    versions = ", ".join(f"{name} {installed_version(name)}" for name in ("numpy", "scipy", "statsmodels"))
    sentences.append(f"Computed with Touchstone {__version__} ({versions}).")
    return " ".join(sentences)


def _describe_permutations(inference: Inference) -> str:
    """Describe the permutations."""
    words = {
        False: "permutation of participants between conditions",
        True: "swapping conditions within participants",
    }
    used = {comparison.paired for comparison in inference.family.comparisons} or {False}
    return " or, where the same participants saw both conditions, by ".join(
        words[paired] for paired in sorted(used)
    )


def _describe_nesting(study: Study) -> str:
    between = study.allocation.design == "between"
    return "" if between else " and participants within conditions (Barr et al. 2013)"


def _describe_interval_method(study: Study) -> str:
    options = study.options
    if not options.resamples:
        return "Confidence intervals were switched off (--resamples 0)."
    return (
        "Confidence intervals (95 %) are percentile intervals of a two-way bootstrap with "
        f"{options.resamples} replicates and seed {options.seed}: participants are resampled "
        f"{DRAWN[study.allocation.design]} and items across the study, both independently. Intervals of "
        "means over participants are widened for few participants (Hesterberg 2015). Such intervals tend to "
        "be wide. They assume that participants and items are draws from larger populations of their kind."
    )


def _build_reproduction_section(study: Study) -> Section:
    options = study.options
    command = (
        f"touchstone report BUNDLE --out DIR --seed {options.seed} --resamples {options.resamples} "
        f"--mode {study.mode} --study-version {study.version.version}"
    )
    return Section(
        "reproduction",
        "To reproduce this",
        [
            Text(f"Command: {command}. The same bundle, options and library versions give the same bytes."),
            *(
                ()
                if study.task.pairs
                else (Script("refit.R", "The same models in R (lme4, ordinal)", render_study_script(study)),)
            ),
            Text(f"Hash of the study's frozen definition: {study.version.hash}.{_name_exporter(study)}"),
            _tabulate_versions(),
            tabulate_inputs(study.bundle.hashes),
        ],
    )


def _name_exporter(study: Study) -> str:
    """Name the program that wrote the bundle, as far as the bundle does."""
    origin = study.bundle.study
    commit = f", commit {origin.commit}" if origin.commit else ""
    return f" The bundle was written by {origin.exported_by}{commit}." if origin.exported_by else ""


def _tabulate_versions() -> Table:
    versions = {"touchstone": __version__, "python": platform.python_version()} | {
        name: installed_version(name) for name in LIBRARIES
    }
    return tabulate_values("versions", "Versions of the software", ("Software", "Version"), versions)
