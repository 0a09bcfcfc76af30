"""The steps of the studio, and the labels and hints of its forms.

Literal tables, read top to bottom. Pure: no Django.

A field without a line here is called by its name and explained by the definition's own description.
"""

from typing import NamedTuple

from studyapp.definition.questions.answer_scales import Kind


class Step(NamedTuple):
    """A page of the studio: the fields that it edits and its first preview."""

    name: str
    title: str
    about: str
    fields: tuple[str, ...]
    preview: str


STEPS: tuple[Step, ...] = (
    Step(
        "texts",
        "Texts",
        "The texts that participants read before they begin. An empty line starts a paragraph.",
        ("title", "title_for_participants", "language", "consent", "instructions", "instructions_page"),
        "consent",
    ),
    Step(
        "task",
        "Task",
        "The task of participants with each item.",
        ("task",),
        "item",
    ),
    Step(
        "conditions",
        "Conditions",
        "The systems whose answers are shown, and their explanations. Each participant is assigned to one "
        "condition, unless the design says otherwise.",
        ("dataset", "design", "condition_order", "conditions"),
        "item",
    ),
    Step(
        "items",
        "Items",
        "The questions of the dataset that are shown.",
        ("items", "practice"),
        "item",
    ),
    Step(
        "questionnaire",
        "Questionnaire",
        "The questions beside every item, and once before and after all items.",
        ("questionnaire", "scales"),
        "item",
    ),
    Step(
        "checks",
        "Checks",
        "Screening, comprehension check and attention items.",
        ("screening", "comprehension", "attention"),
        "screening",
    ),
    Step(
        "rules",
        "Rules",
        "The trials that the analysis excludes. The rules are frozen at the launch, so that you can "
        "preregister them; they never stop a participant while the study runs.",
        ("exclusions",),
        "item",
    ),
    Step(
        "plan",
        "Plan",
        "The comparisons and decisions that the report counts as declared before the data. They are frozen "
        "at the launch; without a plan all comparisons are exploratory.",
        ("plan",),
        "item",
    ),
    Step(
        "recruitment",
        "Recruitment",
        "The number of participants and the last day, the recruitment platform, the assignment to "
        "conditions, and the retention of data.",
        (
            *("participants", "closes", "recruitment", "completion"),
            *("assignment_block", "stale_after_minutes", "order_seed", "privacy"),
        ),
        "done",
    ),
    Step(
        "translations",
        "Translations",
        "The texts in other languages. Participants choose among the languages that are complete.",
        ("translations",),
        "consent",
    ),
)
BY_NAME = {step.name: step for step in STEPS}

LABELS: dict[str, str] = {
    "instructions_page": "Separate instructions page",
    "task.kind": "Participants’ task",
    "task.confidence": "Ask for confidence",
    "task.time_limits": "Time limits (seconds)",
    "task.time_limits.initial": "First answer",
    "task.time_limits.final": "Final answer",
    "task.source": "Changed items",
    "task.ask": "Question asked",
    "task.options": "Answers to choose from",
    "task.time_limits.answer": "System’s answer",
    "task.blocks": "Items by block",
    "task.blocks.before": "Before learning",
    "task.blocks.after": "After learning",
    "task.explained_test": "Explanations with predictions",
    "task.of": "Compared",
    "task.ties": "Allow “both are alike”",
    "task.bonus.per_correct": "Amount per correct answer",
    "task.bonus.currency": "Currency (three letters)",
    "condition_order": "Order of conditions",
    "conditions.*.system": "Answers shown",
    "conditions.*.name": "Name in tables",
    "conditions.*.label": "Name in figures",
    "conditions.*.represents": "Stands for its system in rankings",
    "conditions.*.quota": "Quota (participants)",
    "items.count": "Number of items",
    "items.stratify": "Correctness",
    "items.stratify.correct": "Share answered correctly",
    "items.ids": "Item IDs",
    "practice": "Practice items",
    "practice.count": "Number of items",
    "practice.ids": "Practice item IDs",
    "questionnaire.item": "Beside every item",
    "questionnaire.pre_survey": "Before the items",
    "questionnaire.post_survey": "After the items",
    "scales": "Scoring keys",
    "scales.*.name": "Name in tables",
    "scales.*.items": "Items (one column per line)",
    "scales.*.reverse": "Reversed items (one per line)",
    "scales.*.range": "Range of the score (two lines)",
    "scales.*.title": "Name in the report",
    "scales.*.higher": "A higher score means",
    "scales.*.source": "Source of the key",
    "*.text": "Wording",
    "*.key": "Column name",
    "*.scale": "Answer",
    "*.scale.kind": "Kind of answer",
    "*.scale.labels": "Labels (lowest first)",
    "*.scale.low": "Lowest label only",
    "*.scale.high": "Highest label only",
    "*.scale.choices": "Choices (one per line)",
    "*.scale.min": "Smallest number",
    "*.scale.max": "Largest number",
    "*.scale.lines": "Height (lines)",
    "*.image.file": "Name of the image",
    "*.image.alt": "Description of the image",
    "*.scale.ends": "Labels of the ends (two lines)",
    "*.scale.start": "Chosen at the start",
    "*.scale.rows": "Rows (one per line)",
    "*.scale.top": "Ranks to give",
    "*.scale.min_length": "Minimum length (characters)",
    "*.scale.counter": "Count characters while typing",
    "*.scale.max_length": "Maximum length (characters)",
    "*.role": "Role in the analysis",
    "*.required": "Answer required",
    "*.only": "Only in these conditions",
    "*.except": "Not in these conditions",
    "*.unexplained_text": "Wording without explanations",
    "*.show_if": "Shown after an earlier answer",
    "*.prefer_not_to_say": "Offer “I prefer not to say”",
    "*.random_choices": "Choices in random order",
    "*.fixed": "Last choices that stay",
    "*.heading": "Heading above",
    "*.heading_text": "Text below the heading",
    "*.page_break": "Begins a new page",
    "questionnaire.random_order": "Questions in random order",
    "*.accept": "Accepted answers",
    "*.quotas": "Quotas by answer (participants)",
    "recruitment.pay": "Declared pay",
    "recruitment.pay.amount": "Amount for completing",
    "recruitment.pay.currency": "Currency (three letters)",
    "*.correct": "Correct answer",
    "attention.*.id": "Name in tables",
    "attention.*.text": "Text shown",
    "attention.*.item": "Question ID",
    "attention.*.answer": "Wrong answer shown",
    "attention.*.expected": "Expected answers",
    "comprehension": "Comprehension check",
    "comprehension.tries": "Number of tries",
    "attention": "Attention items",
    "exclusions": "Rules",
    "exclusions.*.question": "Excluding answer",
    "exclusions.*.item_id": "Item ID",
    "exclusions.*.at_least": "From",
    "exclusions.*.at_most": "To",
    "participants": "Participants in all",
    "closes": "Last day of admission",
    "exclusions.*.at_least_failed": "Failed items (at least)",
    "exclusions.*.at_least_tries": "Tries (at least)",
    "exclusions.*.at_least_items": "Items (at least)",
    "exclusions.*.at_least_percent": "Items (%, at least)",
    "exclusions.*.more_than_percent": "Excluded trials (%, above)",
    "exclusions.*.of": "Compared answers",
    "assignment_block": "Assign in blocks",
    "stale_after_minutes": "Reservation timeout (minutes)",
    "order_seed": "Order and assignment seed",
    "completion": "After the completion code",
    "completion.redirect_url": "Redirect address",
    "recruitment.parameter": "Participant ID parameter",
    "recruitment.signed_urls": "Require signed addresses",
    "recruitment.outcomes": "Return codes and addresses",
    "recruitment.outcomes.done": "After the study",
    "recruitment.outcomes.no_consent": "Without consent",
    "recruitment.outcomes.failed_comprehension": "Failed the comprehension check",
    "recruitment.outcomes.full": "Study full",
    "plan": "Analysis plan",
    "plan.hypotheses": "Hypotheses (one per line)",
    "plan.target": "Confirmatory statements",
    "plan.family": "Declared comparisons",
    "plan.family.*.first": "First condition",
    "plan.family.*.second": "Second condition",
    "plan.margins": "Equivalence margins",
    "plan.margins.*.lower": "Lower bound",
    "plan.margins.*.upper": "Upper bound",
    "plan.scores": "Model scores (one key per line)",
    "plan.coefficient": "Correlation",
    "plan.sign_share": "Share of recurring signs",
    "plan.participants": "Participants per condition",
    "plan.interim_analyses": "Interim analyses",
    "plan.interim_analyses.fractions": "Shares of the sample (one per line)",
    "plan.interim_analyses.spending": "Spending function",
    "plan.alpha": "Level (alpha)",
    "plan.known": "Prior knowledge of the data",
    "plan.authors": "Authors (one per line)",
    "privacy.at_retention": "After retention",
}

# Their labels say enough: they have no hint, nor the description of the definition.
WITHOUT_HINT = (
    *("conditions.*.system", "conditions.*.explanation", "conditions", "items", "completion", "dataset"),
    *("design", "items.count", "practice.count"),
    *("task", "task.time_limits.initial", "task.time_limits.final", "task.ask"),
    *("task.time_limits.prediction", "task.blocks.before", "task.blocks.after", "task.ties"),
    *("task.time_limits.comparison", "task.bonus.per_correct"),
    *("questionnaire.item", "questionnaire.pre_survey", "questionnaire.post_survey", "scales.*.title"),
    *("scales.*.higher", "scales.*.source", "questionnaire"),
    *("*.text", "*.scale", "*.scale.kind", "*.scale.low", "*.scale.high", "*.image", "*.scale.ends"),
    *("*.scale.counter", "*.role", "*.required", "*.except", "*.prefer_not_to_say", "*.random_choices"),
    *("*.heading", "*.heading_text", "*.page_break", "*.correct"),
    *("attention.*.id", "comprehension.tries", "exclusions", "exclusions.*.question", "exclusions.*.of"),
    "comprehension.questions",
    *("plan.hypotheses", "plan.family.*.measure", "plan.family.*.first", "plan.family.*.second"),
    *("plan.margins.*.measure", "plan.margins.*.upper", "plan.coefficient", "plan.participants"),
    *("plan.interim_analyses.spending", "plan.authors"),
    *("recruitment.pay.amount", "recruitment.pay.currency", "recruitment", "recruitment.platform", "privacy"),
    *("privacy.withdrawal", "privacy.at_retention"),
)
HINTS: dict[str, str] = dict.fromkeys(WITHOUT_HINT, "") | {
    "title": "Staff see it, in lists, exports and reports.",
    "title_for_participants": "On every page of participants. It should not name the hypothesis. If left "
    "empty, participants see the title.",
    "participants": "Live participants whom a version admits. Places of those who leave, fail a check or "
    "time out become free again. If left empty, there is no limit.",
    "closes": "Those in progress may finish. If left empty, the study stays open until you close it.",
    "conditions.*.quota": "Live participants whom the condition takes. If left empty, there is no limit.",
    "conditions.*.name": "If left empty, made from the content shown.",
    "conditions.*.label": "If left empty, the name in tables.",
    "scales": "Published scales have keys already. Add one for a scale of your own, or for another key.",
    "*.key": "Lower-case letters, digits, `_`.",
    "*.scale.points": "2 to 101, stored as 1, 2, …",
    "*.scale.labels": "One per line, as many as points. Leave empty to label the two ends only.",
    "*.scale.choices": "`value = label`; the value is stored. A label alone gets a value made from it.",
    "*.image.file": "Filled by an upload, or the end of the address of an image of a dataset.",
    "*.image.alt": "For participants who cannot see it.",
    "scales.*.range": "If left empty, the score is the mean in points.",
    "*.scale.start": "If left empty, nothing is chosen until the slider is moved.",
    "*.scale.rows": "`key = text`; the key ends the column name. A text alone gets a key made from it.",
    "*.scale.top": "If left empty, every choice gets a rank.",
    "*.only": "If none is chosen, it is for all conditions.",
    "*.unexplained_text": "For participants who see no explanations. If left empty, the wording above.",
    "*.show_if": "Save to see the answers of the question that you chose.",
    "*.fixed": "Number of choices at the end that are not shuffled.",
    "instructions": "Parts for some conditions get a page of their own after the assignment.",
    "questionnaire.random_order": "Drawn for each participant; questions stay within their section.",
    "*.accept": "If none is chosen, every answer passes.",
    "*.quotas": "Further participants with this answer end as when the study is full. If left empty, "
    "there is no limit.",
    "recruitment.pay": "For the report. It pays nobody.",
    "attention.*.position": "Items and attention items are counted together from 1.",
    "attention.*.expected": "Questions without a choice here do not count.",
    "items.ids": "One per line, in order.",
    "practice.ids": "One per line, instead of drawing.",
    "exclusions.*.name": "Name of the rule in every table.",
    "exclusions.*.at_least": "Smallest number that excludes. If left empty, there is no lower bound.",
    "exclusions.*.at_least_failed": "Fewest failed attention items that exclude.",
    "exclusions.*.at_least_tries": "Fewest tries of the comprehension check that exclude.",
    "exclusions.*.at_least_items": "Fewest items with the same answers to all rating scales.",
    "exclusions.*.at_least_percent": "Instead, the lowest percentage of such items.",
    "exclusions.*.more_than_percent": "A larger percentage of trials that other rules exclude excludes all.",
    "exclusions.*.at_most": "Largest number that excludes. If left empty, there is no upper bound.",
    "plan": "The analysis as declared before the data.",
    "plan.target": "If left empty, items like these, or these items with interim analyses.",
    "plan.baseline": "The others are compared with it if no comparison is declared.",
    "plan.family": "Confirmatory comparisons. Holm’s correction covers them together.",
    "plan.margins": "Differences within the bounds count as equivalent.",
    "plan.margins.*.lower": "A negative difference, or a ratio below 1 for times.",
    "plan.scores": "Holm’s correction covers their correlations. If left empty, all main scores count.",
    "plan.sign_share": "A sign of the rank table is coloured if this share of replicates has it.",
    "plan.interim_analyses": "They need one declared comparison and the planned participants.",
    "plan.interim_analyses.fractions": "Such as 0.5 and 1.",
    "plan.alpha": "Two-sided.",
    "task.kind": "Save to see the options of another task.",
    "task.confidence": "In both answers, from 1 to 5.",
    "task.time_limits": "The server stores a page that ran out as it is then. If left empty, there is no "
    "limit.",
    "task.source": "A dataset in the format of changed items. Every system of a condition needs finished "
    "predictions on it.",
    "task.options": "At most, if the answer is asked for. Questions for yes or no have these two.",
    "task.time_limits.answer": "In the learning block.",
    "task.blocks": "Even numbers: the system is right in half of every block. The step Items needs "
    "their sum.",
    "task.blocks.learning": "The system’s answer is shown after each prediction.",
    "task.explained_test": "Shown without the answer, which they can give away.",
    "task.of": "The page names the two sides by it.",
    "task.criteria": "If there is none: “Which explanation is better?” or “Which answer is better?”.",
    "task.bonus": "Pay for each correct final answer or right prediction. The page of payments suggests it.",
    "task.bonus.currency": "That of the recruitment platform, such as GBP.",
    "practice": "Shown before the items, marked as practice, and kept apart in the export.",
    "items.seed": "Seed of the draw.",
    "practice.seed": "Seed of the draw.",
    "privacy.retain_until": "If left empty, the site keeps data until somebody removes them.",
    "comprehension": "Questions about the instructions. Participants who fail the last try end there.",
    "screening": "Questions after consent. Participants with other answers are screened out.",
    "attention": "Pages among the items that show whether participants read. They never enter the measures.",
    "language": "Language of the texts written here, and of the pages. In German studies, texts of our "
    "templates and scales that you leave unchanged appear in German.",
}

# The labels of options, by field; other options are shown as they are written in a file.
TASKS: dict[str, str] = {
    "verification": "Verification: judge the system’s answer",
    "advice": "Advice: answer before and after the system’s answer",
    "simulation": "Simulation: predict the system’s answers before and after seeing some",
    "counterfactual": "Counterfactual: predict the system’s answer after a change",
    "preference": "Preference: compare two conditions side by side",
}
OPTIONS: dict[str, dict[str, str]] = {
    "design": {
        "between": "Each participant sees one condition",
        "within": "Each participant sees all conditions",
        "mixed": "Each participant sees all conditions of one group",
    },
    "condition_order": {
        "blocked": "One condition after the other",
        "shuffled": "Mixed item by item",
    },
    "explanation": {
        "facts": "Facts: highlighted sentences",
        "tokens": "Highlighted tokens",
        "both": "Both facts and tokens",
        "none": "No explanation",
        "program": "The steps of a program",
        "rationale": "Rationale: free text by the system",
        "facts+rationale": "Both facts and rationale",
    },
    "clock": {
        "server": "Server",
        "client_total": "Browser (whole time)",
        "client_visible": "Browser (page visible)",
    },
    "ask": {
        "answer": "The answer of the system",
        "correct": "The correctness of the system’s answer",
    },
    "of": {
        "all": "All answers to the items",
        "text": "Free text",
        "explanation": "Explanations",
        "answer": "Answers",
    },
    "withdrawal": {
        "exclude": "Keep the answers, but leave them out of every export",
        "delete": "Delete the answers",
    },
    "target": {
        "these_items": "About these items",
        "items_like_these": "About items like these",
    },
    "coefficient": {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"},
    "spending": {"obrien_fleming": "O’Brien-Fleming", "pocock": "Pocock"},
    "at_retention": {"anonymise": "Make the data anonymous", "delete": "Delete the data"},
}
KINDS: dict[Kind, str] = {
    "yes_no": "Yes or no",
    "likert": "Rating scale",
    "single": "One of several choices",
    "multiple": "Any number of choices",
    "number": "Number",
    "slider": "Slider",
    "matrix": "Matrix: rows with one rating",
    "ranking": "Ranking",
    "text": "Text",
}
RULES: dict[str, str] = {
    "min_time": "Faster than",
    "max_time": "Slower than",
    "answered": "Given answer",
    "answered_number": "Number within bounds",
    "item": "One item",
    "flagged": "Flagged participant",
    "failed_attention": "Failed attention items",
    "excluded_trials": "Many excluded trials",
    "comprehension_tries": "Many comprehension tries",
    "straight_lining": "Same scale answers",
    "duplicate_answers": "Duplicate answers",
}
ATTENTION: dict[str, str] = {
    "instructed": "Instructed answer",
    "contradiction": "Explanation that contradicts the answer",
}
# Text fields of several lines; others have one.
AREAS = frozenset({"consent", "instructions", "plan.known", "*.text", "*.unexplained_text", "*.heading_text"})


def lookup(table: dict[str, str], path: tuple[int | str, ...]) -> str | None:
    """Return a table's entry of a field: of its path, else its last parts.

    Numbers are written `*`.
    """
    parts = ["*" if isinstance(part, int) else part for part in path]
    for name in (".".join(parts), *(".".join(["*", *parts[-last:]]) for last in (2, 1))):
        if name in table:
            return table[name]
    return None


def find_label(path: tuple[int | str, ...]) -> str:
    """Return what a field is called: as the table says, else by its own name."""
    return lookup(LABELS, path) or str(path[-1]).replace("_", " ").capitalize()


def is_area(path: tuple[int | str, ...]) -> bool:
    """Return whether a text field has several lines."""
    return lookup(dict.fromkeys(AREAS, ""), path) is not None
