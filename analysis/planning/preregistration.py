"""Pre-registration from a study's frozen version and a declared plan.

Everything about the study itself comes from study_version.json, with its hash, so that the text cannot differ
from what participants see. A `Plan` holds the researchers' decisions; the text lists what the plan leaves
open.
"""

from collections.abc import Sequence

from ..io.errors import AnalysisError
from ..participants.study_version import Bounds, Condition, Kind, Points, Question, TaskOptions, Version
from ..participants.tasks import TASKS
from ..stats.correlations import LEAST_FOR_P, LEAST_SYSTEMS
from ..stats.equivalence import check_margin
from ..stats.sequential import SPENDING_LABELS, Boundaries, cost_of_interim_analyses
from .declared_plan import Plan, read_frozen_plan
from .frozen_version import FrozenVersion
from .power import Power
from .registration_forms import FORMS

_TASK_WORDS: dict[Kind, tuple[str, ...]] = {  # what participants do, if they do not judge an answer
    "advice": (
        "Each item has two pages. On the first, participants give their own answer and their confidence (1 "
        "to 5); it is stored and cannot be changed. On the second they see the system's answer, with its "
        "explanation where the condition has one, and give a final answer and their confidence in it.",
        "",
    ),
    "simulation": (
        "The items come in three blocks: before, learning, and after. Participants predict what the system "
        "answers, from options in a seeded order or as right or wrong. In the learning block they see its "
        "answer after each prediction, with its explanation where the condition has one. Correct and wrong "
        "answers of the system are balanced in each block. The block of each item is drawn for each "
        "participant.",
        "",
    ),
    "preference": (
        "Each item shows two conditions side by side. The sides of the two are balanced, and every "
        "pair of conditions is compared as often. On each criterion, participants say which side is better; "
        "they may say that both are alike where ties are allowed.",
        "",
    ),
    "counterfactual": (
        "Each item has an original and a changed version. Participants see the original with the system's "
        "answer, and its explanation where the condition has one, then the changed question or context, and "
        "predict the system's answer to it from options in a seeded order, or say that they cannot tell. The "
        "system's answers to the changed items were predicted before the study and frozen with it.",
        "",
    ),
}


def preregistration(frozen: FrozenVersion, plan: Plan | None = None, form: str = "touchstone") -> str:
    """Write the pre-registration as Markdown.

    The same arguments give the same text.

    Args:
        frozen: A frozen version, or a draft.
        plan: The researchers' decisions; None for those that the version declares.
        form: "touchstone", "aspredicted" or "osf", whose headings the text has.

    Returns:
        Markdown, ready to be registered.

    Raises:
        AnalysisError: A measure, condition or margin that the study cannot have, or an unknown form.
    """
    plan = plan or read_frozen_plan(frozen.version) or Plan()
    _check(frozen, plan)
    if form not in FORMS:
        raise AnalysisError(f"unknown form {form!r}; known forms: {', '.join(FORMS)}")
    parts = {
        "identity": _describe_identity(frozen, plan),
        "title": [f"- Title: {frozen.title}"],
        "hypotheses": _format_list(plan.hypotheses),
        "design": _describe_whole_design(frozen),
        "conditions": _format_list([*frozen.version.titles.values()]),
        "questions": _describe_questions(frozen.version),
        "correctness": _describe_correctness(frozen.version),
        "sample": _describe_sample(frozen, plan),
        "exclusions": _describe_exclusions(frozen),
        "measures": _describe_measures(frozen, plan),
        "analysis": _describe_analysis(frozen, plan),
        "decisions": _describe_decisions(frozen.version),
        "left_open": _format_list(list_open_decisions(frozen, plan)),
        "collected": [_describe_existing_data(frozen, plan)],
        "kind": ["An experiment: participants are assigned to conditions by the program."],
        "blinding": ["Participants do not learn the names of the conditions."],
        "source": [f"Participants are recruited by: {frozen.definition.source}."],
    }
    lines = [f"# Pre-registration: {frozen.title}", ""]
    for heading, names in FORMS[form].sections:
        content = [line for name in names if parts[name] for line in (*parts[name], "")]
        if heading and (content or form != "touchstone"):
            lines += [f"## {heading}", "", *(content or ["Not stated.", ""])]
        else:
            lines += content
    return "\n".join(lines).rstrip() + "\n"


def list_open_decisions(frozen: FrozenVersion, plan: Plan) -> list[str]:
    """List what neither the frozen version nor the plan decides."""
    missing = {
        "the hypotheses": plan.hypotheses,
        "the family of confirmatory comparisons": plan.family,
        "the number of participants": plan.participants or frozen.definition.participants,
        "how the number of participants was found": plan.power,
        "the exclusion rules": frozen.rules is not None,
        "what was known of the data when this was written": plan.known,
        "the items": frozen.definition.items,
        "the margins of equivalence (no claim of no difference can be made)": plan.margins,
        "the model scores that are related to people": plan.scores or _count_systems(frozen) < LEAST_SYSTEMS,
    }
    return [f"Not stated: {what}." for what, given in missing.items() if not given]


def _check(frozen: FrozenVersion, plan: Plan) -> None:
    measures = {measure.key: measure for measure in frozen.measures}
    names = [condition.name for condition in frozen.version.conditions]
    for key, *conditions in plan.family:
        if key not in measures:
            raise AnalysisError(f"the family names the measure {key!r}, which this study cannot have")
        for name in conditions:
            if name not in names:
                raise AnalysisError(f"the family names the condition {name!r}; the study has {names}")
        if conditions[0] == conditions[1]:
            raise AnalysisError(f"the family compares {conditions[0]!r} with itself")
    if len(set(plan.family)) < len(plan.family):
        raise AnalysisError("the family holds a comparison twice")
    for key, margin in plan.margins.items():
        if key not in {measure for measure, *_ in plan.family}:
            raise AnalysisError(f"a margin is given for {key!r}, which is not in the family")
        try:
            check_margin(margin, ratio=measures[key].geometric)
        except ValueError as error:
            raise AnalysisError(f"margin of {key!r}: {error}") from None
    if plan.participants is not None and plan.participants < 2:
        raise AnalysisError(f"{plan.participants} participants per condition are too few for any comparison")
    if plan.interim_analyses is not None and len(plan.family) != 1:
        raise AnalysisError(
            f"interim analyses test one confirmatory comparison; the family has {len(plan.family)}"
        )
    if plan.interim_analyses is not None and plan.interim_analyses.alpha != plan.alpha:
        raise AnalysisError(
            f"the interim analyses spend an alpha of {plan.interim_analyses.alpha:g}, "
            f"the plan has {plan.alpha:g}"
        )
    systems = [condition.name for condition in frozen.version.conditions if not condition.ground_truth]
    if plan.baseline is not None and plan.baseline not in systems:
        raise AnalysisError(f"the baseline {plan.baseline!r} is not one of the systems' conditions {systems}")


def _describe_identity(frozen: FrozenVersion, plan: Plan) -> list[str]:
    checked = {
        True: "The definition in the file gives this hash.",
        False: "The definition in the file does **not** give this hash.",
        None: "The file holds no definition to check it against.",
    }
    return [
        f"- Study: `{frozen.study}`, version {frozen.version.version}, "
        + (f"frozen {frozen.frozen_at}" if frozen.frozen_at else "a draft that was not launched yet"),
        f"- Hash of the frozen definition (SHA-256): `{frozen.version.hash}`. {checked[frozen.verified]}",
        *([f"- Authors: {', '.join(plan.authors)}"] if plan.authors else []),
        *([f"- Known of the data when this was written: {plan.known}"] if plan.known else []),
    ]


def _describe_existing_data(frozen: FrozenVersion, plan: Plan) -> str:
    if plan.known:
        return plan.known
    return "Not stated." if frozen.frozen_at else "No: the study was not launched when this was written."


def _describe_correctness(version: Version) -> list[str]:
    """Say where the correctness of the shown answers comes from."""
    if not version.correctness:
        return []
    titles = version.titles
    lines = [
        "An answer that equals the gold answer (exact match) is correct. Another one is as people judged it, "
        "and wrong if nobody did.",
        "",
    ]
    for row in version.correctness:
        sources = ", ".join(f"{number} by {source}" for source, number in row.sources.items())
        near = f"; {row.near_misses} unjudged near-misses count as wrong" if row.near_misses else ""
        lines.append(
            f"- **{titles.get(row.condition, row.condition)}**: {row.correct} of {row.answers} answers are "
            f"correct ({row.exact_match} by exact match). Sources: {sources}{near}."
        )
    return lines


def _describe_decisions(version: Version) -> list[str]:
    return [
        f"- The check `{row.check}` was open, and the launch was decided all the same: {row.reason}"
        + (f" ({', '.join(filter(None, (row.by, row.at)))})" if row.by or row.at else "")
        for row in version.decisions
    ]


def _format_list(entries: Sequence[str]) -> list[str]:
    return [f"- {entry}" for entry in entries]


def _describe_whole_design(frozen: FrozenVersion) -> list[str]:
    definition = frozen.definition
    conditions = {declared.name: declared for declared in definition.conditions}
    lines = [*_describe_design(frozen), ""]
    for condition in frozen.version.conditions:
        declared = conditions.get(condition.name)
        shows = _describe_advice(condition)
        more = f", revision `{declared.revision}`" if declared and declared.revision else ""
        weight = f", weight {declared.weight:g}" if declared and declared.weight != 1 else ""
        lines.append(f"- **{condition.title}** (`{condition.name}`): {shows}{more}{weight}")
    lines.append("")
    if definition.items:
        source = f" of `{definition.dataset}`" if definition.dataset else ""
        seed = f", drawn with the seed {definition.items_seed}" if definition.items_seed is not None else ""
        order = f" (seed {definition.order_seed})" if definition.order_seed is not None else ""
        items = f"Items: {len(definition.items)}{source}{seed}"
        lines.append(f"{items}, in an order of their own for each participant{order}.")
    if definition.conditions:
        lines.append(_describe_assignment(frozen))
    return lines


def _describe_assignment(frozen: FrozenVersion) -> str:
    block = frozen.definition.assignment_block
    if block and not TASKS[frozen.version.task.kind].pairs:
        return f"Assignment: in shuffled blocks that hold each condition {block} times."
    what = "arrangement of pairs and sides" if TASKS[frozen.version.task.kind].pairs else "condition"
    return (
        f"Assignment: after consent, to the {what} with the fewest completed and active participants; at "
        "random among ties."
    )


def _describe_advice(condition: Condition) -> str:
    if not condition.advice:
        return "no advice"
    return f"answers and facts of `{condition.system}`" if condition.system else "gold answers and gold facts"


def _group_conditions(frozen: FrozenVersion) -> dict[str, list[str]]:
    """List the titles of the conditions that the same participants see."""
    groups: dict[str, list[str]] = {}
    for condition in frozen.version.conditions:
        groups.setdefault(condition.group or condition.name, []).append(condition.title)
    return groups


def _describe_design(frozen: FrozenVersion) -> list[str]:
    groups = _group_conditions(frozen)
    if TASKS[frozen.version.task.kind].pairs:
        return [
            "Within participants: each compares the conditions, two at a time. The pairs are rotated over "
            "the items, and their sides exchanged, from participant to participant: each participant sees "
            "each item once, and each item comes in each pair and each order alike often."
        ]
    if all(len(own) == 1 for own in groups.values()):
        return ["Between participants: each sees one condition, and all see the same items."]
    text = (
        "The order of conditions is a row of a balanced Latin square, and the items are rotated over "
        "conditions: each participant sees each item once, and each item comes in each condition alike often."
    )
    if len(groups) == 1:
        return [f"Within participants: each sees all conditions. {text}"]
    lines = [f"Partly within participants: each sees all conditions of one group. {text}", ""]
    return [*lines, *(f"- Group {name}: {', '.join(own)}" for name, own in groups.items())]


def _describe_simulation(task: TaskOptions) -> list[str]:
    """Return the lines on the blocks of a simulation; none for another task."""
    if not task.blocks:
        return []
    sizes = ", ".join(f"{name} {size}" for name, size in task.blocks.items())
    asked = "whether its answer is correct" if task.ask == "correct" else "the answer"
    explained = "Explanations, without the answer, are" if task.explained_test else "No explanation is"
    return [f"Items by block: {sizes}. Predicted is {asked}. {explained} shown while people predict.", ""]


def _describe_questions(version: Version) -> list[str]:
    lines = [*_TASK_WORDS.get(version.task.kind, ()), *_describe_simulation(version.task)]
    if version.task.criteria:
        lines += [*(f"- `{criterion.key}`: “{criterion.text}”" for criterion in version.task.criteria), ""]
    if version.item_questionnaire or not lines:
        lines += ["Beside every item:", ""]
        lines += [_describe_question(question) for question in version.item_questionnaire]
    if version.post_survey:
        lines += ["", "Once, at the end:", ""]
        lines += [_describe_question(question) for question in version.post_survey]
    return lines


def _describe_question(question: Question) -> str:
    scale = "yes or no"
    if isinstance(question.scale, Points):
        scale = f"1 to {question.scale.points}"
        if question.scale.labels:
            scale += f" ({question.scale.labels[0]} to {question.scale.labels[-1]})"
    elif isinstance(question.scale, Bounds):
        scale = f"{question.scale.min:g} to {question.scale.max:g}"
    role = f"; read as {question.role}" if question.role else ""
    skipped = "" if question.required else "; may be skipped"
    only = "" if question.only is None else f"; asked only in: {', '.join(question.only) or 'no condition'}"
    return f"- `{question.key}`: “{question.text}” {scale}{role}{skipped}{only}"


def _describe_sample(frozen: FrozenVersion, plan: Plan) -> list[str]:
    lines = _describe_admission(frozen)
    if plan.participants is not None:
        total = plan.participants * len(_group_conditions(frozen))
        lines.append(f"{plan.participants} participants per condition who complete, {total} in all.")
    if plan.power is not None:
        lines.append(_describe_power(plan.power))
    if plan.interim_analyses is None:
        lines.append("The data are analysed once, when the sample is complete. There is no interim analysis.")
    else:
        lines += _describe_interim_analyses(plan.interim_analyses)
    return lines


def _describe_admission(frozen: FrozenVersion) -> list[str]:
    """Say whom the study admits, and until when."""
    definition, lines = frozen.definition, list[str]()
    if definition.participants is not None:
        lines.append(f"The study admits {definition.participants} participants.")
    titles = frozen.version.titles
    quotas = [
        f"{titles.get(row.name, row.name)} {row.quota}"
        for row in definition.conditions
        if row.quota is not None
    ]
    if quotas:
        lines.append(f"Quotas of conditions: {', '.join(quotas)}.")
    if definition.closes is not None:
        lines.append(f"Participants are admitted until {definition.closes}.")
    return lines


def _describe_power(power: Power) -> str:
    shifts = ", ".join(f"{shift:g}" for shift in power.effects)
    text = (
        f"Planned with {power.simulations} simulated studies ({power.method}) of {power.participants} "
        f"participants per condition and {power.items} items, alpha {power.alpha:g}, with shifts of {shifts} "
        "by condition"
    )
    if power.all is None:
        return text + "."
    low, high = power.all.interval
    return text + f": power {power.all.value:.3f} (95 % of the simulation {low:.3f} to {high:.3f})."


def _describe_interim_analyses(bounds: Boundaries) -> list[str]:
    lines = [
        f"Interim analyses with an alpha-spending function of the {SPENDING_LABELS[bounds.spending]} type "
        f"(Lan and DeMets 1983), two-sided alpha {bounds.alpha:g}. If one comes at another fraction, its "
        "boundary is computed again from the same function.",
        "",
        "| interim analysis | share of the planned sample | stop at \\|z\\| of | nominal p | alpha spent |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {number} | {100 * analysis.fraction:.1f} % | {analysis.z:.4f} | {analysis.p:.5f} "
        f"| {analysis.spent:.5f} |"
        for number, analysis in enumerate(bounds.analyses, start=1)
    ]
    if bounds.analyses[-1].fraction == 1:
        cost = cost_of_interim_analyses(bounds)
        lines += [
            "",
            f"For a power of {cost.power:g} these interim analyses cost "
            f"{100 * (cost.inflation - 1):.1f} % more participants at most; the mean sample is "
            f"{100 * cost.expected_effect:.0f} % of that of a study without them "
            "if the planned effect is there.",
        ]
    return lines


def _describe_exclusions(frozen: FrozenVersion) -> list[str]:
    if frozen.rules is None:
        return []
    if not frozen.rules:
        return ["No trial is excluded."]
    lines = [
        "A submitted trial is left out where any of these holds; a missing time or answer never excludes:",
        "",
    ]
    lines += [f"- `{rule.name}`: {rule.describe()}" for rule in frozen.rules]
    return [*lines, "", "Results are given with and without these exclusions."]


def _describe_measures(frozen: FrozenVersion, plan: Plan) -> list[str]:
    primary = {measure for measure, *_ in plan.family}
    lines = [
        "Each is computed per participant over retained trials, then averaged over participants.",
        "",
        "| measure | key | definition | better | part |",
        "|---|---|---|---|---|",
    ]
    for measure in frozen.measures:
        part = "confirmatory" if measure.key in primary else "exploratory"
        label, definition = (text.replace("|", "\\|") for text in (measure.label, measure.definition))
        lines.append(f"| {label} | `{measure.key}` | {definition} | {measure.wanted or '–'} | {part} |")
    return lines


def _describe_analysis(frozen: FrozenVersion, plan: Plan) -> list[str]:
    titles = frozen.version.titles
    labels = {measure.key: measure.label for measure in frozen.measures}
    lines = []
    if plan.family:
        lines += [f"Confirmatory family of {len(plan.family)} comparisons:", ""]
        lines += [
            f"- {labels[key]}: {titles[second]} against {titles[first]}" for key, first, second in plan.family
        ]
        lines += ["", _describe_test(frozen, plan)]
    else:
        against = f", each condition against {titles[plan.baseline]}" if plan.baseline else ""
        lines.append(f"No comparison is confirmatory: all are exploratory{against}.")
    for key, (low, high) in plan.margins.items():
        lines.append(
            f"{labels[key]}: conditions count as equivalent within {low:g} to {high:g} (two one-sided tests)."
        )
    lines.append(
        f"Intervals of measures: 95 %, two-way bootstrap of participants and items, {plan.resamples} "
        f"replicates, seed {plan.seed}. Intervals of differences hold what the test does not reject."
    )
    systems = _count_systems(frozen)
    if systems >= LEAST_SYSTEMS:
        p = (
            "with p from permutations, Holm's correction over the scores"
            if systems >= LEAST_FOR_P
            else "without p values"
        )
        lines.append(
            f"Systems against model scores ({', '.join(plan.scores) or 'all of them'}): rank relation, which "
            f"counts if it recurs in {100 * plan.sign_share:g} % of the bootstrap replicates, and "
            f"{plan.coefficient.capitalize()} correlation over {systems} systems, {p}, with bootstrap "
            "intervals."
        )
    return lines


def _count_systems(frozen: FrozenVersion) -> int:
    return sum(1 for c in frozen.version.conditions if c.system and not c.ground_truth)


def _describe_test(frozen: FrozenVersion, plan: Plan) -> str:
    group_of = {c.name: c.group or c.name for c in frozen.version.conditions}
    within = {group_of[first] == group_of[second] for _, first, second in plan.family}
    if plan.interim_analyses is not None:
        statistic = (
            "the paired t of participants' changes"
            if within == {True}
            else "Welch's t over participant means"
        )
        return (
            f"It is tested at each interim analysis by {statistic}, its p taken as that of a |z|, against "
            "the boundary of that analysis. Everything else is exploratory."
        )
    correction = f"Holm's correction over the family, alpha {plan.alpha:g}. Everything else is exploratory."
    if plan.target == "items_like_these":
        return (
            "The claim is about items like these: participants and items are samples. Each is tested by t of "
            "a quasi-F over participants and items (Satterthwaite's degrees of freedom), two-sided; "
            f"{correction} The same comparisons about these items alone are exploratory."
        )
    words = {
        False: "permutations of participants between the two conditions",
        True: "swaps of the two conditions within participants",
    }
    tests = " or, where the same participants see both, ".join(
        words[is_within] for is_within in sorted(within)
    )
    return (
        f"The claim is about these items. Each is tested by {plan.permutations} {tests} (all of them where "
        f"they are fewer), two-sided; {correction} Those about items like these are exploratory."
    )
