"""The steps of the studio, and the words of its forms.

Literal tables, read top to bottom. Pure: no Django.

A field without a line here is called by its name and explained by the definition's own description.
"""

from typing import NamedTuple

from studyapp.definition.questionnaires import Kind


class Step(NamedTuple):
    """A page of the studio: the fields of the definition that it edits, and the page it previews first."""

    name: str
    title: str
    about: str
    fields: tuple[str, ...]
    preview: str


STEPS: tuple[Step, ...] = (
    Step(
        "texts",
        "Texts",
        "What participants read before they begin. An empty line starts a paragraph.",
        ("title", "language", "consent", "instructions", "instructions_page"),
        "consent",
    ),
    Step(
        "conditions",
        "Conditions",
        "Where the answers come from and how they are explained. Each participant is assigned to one "
        "condition, unless the design says otherwise.",
        ("dataset", "design", "condition_order", "conditions"),
        "item",
    ),
    Step(
        "items",
        "Items",
        "Which questions of the dataset are shown.",
        ("items", "practice"),
        "item",
    ),
    Step(
        "questionnaire",
        "Questionnaire",
        "What participants are asked: beside every item, and once before and after all of them.",
        ("questionnaire",),
        "item",
    ),
    Step(
        "checks",
        "Checks",
        "Who may take part, and who reads.",
        ("screening", "comprehension", "attention"),
        "screening",
    ),
    Step(
        "rules",
        "Rules",
        "Which trials the analysis leaves out. The rules are frozen at the launch, so that you can register "
        "them; they never stop anybody while the study runs.",
        ("exclusions",),
        "item",
    ),
    Step(
        "recruitment",
        "Recruitment",
        "Where participants come from, how they are assigned, and what becomes of their data.",
        (
            *("recruitment", "completion", "assignment_block", "stale_after_minutes", "order_seed"),
            "privacy",
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
    "instructions_page": "Instructions on a page of their own",
    "dataset": "Dataset",
    "design": "Who sees what",
    "condition_order": "Order of several conditions",
    "conditions": "Conditions",
    "conditions.*.system": "Shows the answers of",
    "conditions.*.explanation": "Explanation",
    "conditions.*.name": "Name in tables",
    "conditions.*.label": "Name in figures",
    "items.count": "How many",
    "items.stratify": "Correctness",
    "items.stratify.correct": "Share that it answers correctly",
    "items.ids": "Ids of the items",
    "practice": "Practice items",
    "practice.count": "How many",
    "practice.ids": "Ids of the practice items",
    "questionnaire.item": "Beside every item",
    "questionnaire.pre_survey": "Once, before the items",
    "questionnaire.post_survey": "Once, after the items",
    "*.text": "Wording",
    "*.key": "Name of the column",
    "*.scale": "Answer",
    "*.scale.kind": "Kind of answer",
    "*.scale.labels": "Labels, one a line, lowest first",
    "*.scale.low": "Or only the lowest label",
    "*.scale.high": "and the highest",
    "*.scale.choices": "Choices, one a line",
    "*.scale.min": "Smallest number",
    "*.scale.max": "Largest number",
    "*.scale.lines": "Height in lines",
    "*.scale.max_length": "Most characters",
    "*.role": "What the measures take it for",
    "*.required": "Must be answered to go on",
    "*.accept": "Answers that let pass",
    "*.correct": "The correct answer",
    "attention.*.id": "Name in the tables",
    "attention.*.text": "What stands in place of the question",
    "attention.*.item": "Id of the question",
    "attention.*.answer": "The wrong answer that is shown",
    "attention.*.expected": "What passes",
    "comprehension": "Comprehension check",
    "comprehension.tries": "How often it may be tried",
    "attention": "Attention items",
    "screening": "Screening",
    "exclusions": "Rules",
    "exclusions.*.question": "Answer that excludes",
    "exclusions.*.item_id": "Id of the item",
    "exclusions.*.at_least": "From",
    "exclusions.*.at_most": "To",
    "assignment_block": "Assign in blocks",
    "stale_after_minutes": "Minutes until a place is given again",
    "order_seed": "Seed of order and assignment",
    "completion": "After the completion code",
    "completion.redirect_url": "Address to go on to",
    "recruitment.parameter": "Parameter that holds the person's id",
    "recruitment.signed_urls": "Admit signed addresses only",
    "recruitment.outcomes": "What takes people back",
    "recruitment.outcomes.done": "After the study",
    "recruitment.outcomes.no_consent": "Without consent",
    "recruitment.outcomes.screened_out": "Screened out",
    "recruitment.outcomes.failed_comprehension": "Failed the comprehension check",
    "recruitment.outcomes.full": "No place left",
    "privacy.retain_until": "Last day of personal data",
    "privacy.at_retention": "On the day after",
}

HINTS: dict[str, str] = {
    "conditions.*.name": "If left empty, made from what is shown.",
    "conditions.*.label": "If left empty, the name in tables.",
    "conditions.*.system": "",
    "conditions.*.explanation": "",
    "conditions": "",
    "questionnaire.item": "",
    "questionnaire.pre_survey": "",
    "questionnaire.post_survey": "",
    "*.text": "",
    "*.key": "Lower-case letters, digits, `_`.",
    "*.scale": "",
    "*.scale.kind": "",
    "*.scale.points": "2 to 101, stored as 1, 2, …",
    "*.scale.labels": "As many as points. Leave it empty to label the two ends only.",
    "*.scale.low": "",
    "*.scale.high": "",
    "*.scale.choices": "`value = label`; what is left of the sign is stored. A label alone gets a value made "
    "from it.",
    "*.role": "",
    "*.required": "",
    "*.accept": "None chosen: every answer lets pass.",
    "*.correct": "",
    "attention.*.id": "",
    "attention.*.position": "Items and attention items are counted together, from 1.",
    "comprehension.tries": "",
    "attention.*.expected": "Questions without a choice here do not count.",
    "items": "",
    "items.ids": "One a line, in order.",
    "practice.ids": "One a line, instead of drawing.",
    "exclusions": "",
    "exclusions.*.name": "Name of the rule in every table.",
    "exclusions.*.question": "",
    "exclusions.*.at_least": "The smallest number that excludes; empty: every number up to the largest.",
    "exclusions.*.at_most": "The largest number that excludes; empty: every number from the smallest on.",
    "recruitment": "",
    "recruitment.platform": "",
    "completion": "",
    "privacy": "",
    "privacy.withdrawal": "",
    "privacy.at_retention": "",
    "dataset": "",
    "design": "",
    "questionnaire": "",
    "practice": "Shown before the items, marked as practice, and kept apart in the export.",
    "items.count": "",
    "practice.count": "",
    "items.seed": "Decides which are drawn.",
    "practice.seed": "Decides which are drawn.",
    "privacy.retain_until": "If left empty, until somebody acts.",
    "comprehension": "Questions about the instructions. Who fails the last try ends there.",
    "comprehension.questions": "",
    "screening": "Questions after consent. Who may not take part, by the answers, ends there.",
    "attention": "Pages among the items that show whether somebody reads. They are no items: the measures "
    "never read them.",
    "language": "Of the texts written here, and of the pages.",
}

# The names of what can be chosen, by field; what is not here is shown as it is written in a file.
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
    },
    "clock": {
        "server": "Server",
        "client_total": "Browser, whole time",
        "client_visible": "Browser, while the page was in sight",
    },
    "withdrawal": {
        "exclude": "Keeps the answers, and leaves them out of every export",
        "delete": "Deletes the answers",
    },
    "at_retention": {"anonymise": "Make the data anonymous", "delete": "Delete the data"},
}
KINDS: dict[Kind, str] = {
    "yes_no": "Yes or no",
    "likert": "Rating scale",
    "single": "One of several choices",
    "multiple": "Any number of choices",
    "number": "Number",
    "text": "Text",
}
RULES: dict[str, str] = {
    "min_time": "Faster than",
    "max_time": "Slower than",
    "answered": "Answered so",
    "answered_number": "Answered by a number",
    "item": "One item",
    "flagged": "Flagged participant",
}
ATTENTION: dict[str, str] = {
    "instructed": "Instructed answer",
    "contradiction": "Explanation that contradicts the answer",
}
# Several lines; every other text has one.
AREAS = frozenset({"consent", "instructions", "*.text"})


def said(table: dict[str, str], path: tuple[int | str, ...]) -> str | None:
    """Return what a table says of a field: of its whole path, else of its last parts.

    Numbers are written `*`.
    """
    parts = ["*" if isinstance(part, int) else part for part in path]
    for name in (".".join(parts), *(".".join(["*", *parts[-last:]]) for last in (2, 1))):
        if name in table:
            return table[name]
    return None


def label(path: tuple[int | str, ...]) -> str:
    """Return what a field is called: as the table says, else by its own name."""
    return said(LABELS, path) or str(path[-1]).replace("_", " ").capitalize()


def is_area(path: tuple[int | str, ...]) -> bool:
    return said(dict.fromkeys(AREAS, ""), path) is not None
