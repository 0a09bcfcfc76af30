"""Templates that a new study can start from.

A literal table of drafts. Pure: no Django.
"""

from collections.abc import Sequence
from typing import NamedTuple

from studyapp.definition.exclusion_rules import RULES_2020
from studyapp.definition.questionnaires import TEMPLATES
from studyapp.studio.drafts import Draft, opened

CONSENT = """\
You take part in a study of question answering systems and their explanations. You will see questions, each \
with the answer of a system, and judge whether the answer is correct.

Taking part is voluntary. You may stop at any time by closing the page. Your answers are stored under a \
random number, without your name, together with their times and the kind of your device (phone, tablet or \
desktop computer).

[Say here who does the research and why, how long it takes, what is paid, and whom to ask.]"""

TITLE_FOR_PARTICIPANTS = "A study of computer answers"

INSTRUCTIONS = """\
Read the question, the answer and what is highlighted. Then say whether you think that the answer is \
correct. Please do not look anything up."""


ADVICE_CONSENT = CONSENT.replace(
    "You will see questions, each with the answer of a system, and judge whether the answer is correct.",
    "You will answer questions, and may then see the answer of a system before you answer again.",
)
ADVICE_INSTRUCTIONS: list[Draft] = [
    {"text": "Read the question and the articles, and give your own answer. Please do not look anything up."},
    {
        "text": "Then you see the answer of a system, which may be wrong. Keep your answer or change it.",
        "only": ["advised"],
    },
    {"text": "Then you are asked again. Keep your answer or change it.", "except": ["advised"]},
]

COUNTERFACTUAL_CONSENT = CONSENT.replace(
    "and judge whether the answer is correct.", "and predict what the system answers after a change."
)
COUNTERFACTUAL_INSTRUCTIONS: list[Draft] = [
    {"text": "You see a question and the answer of a system, which may be wrong."},
    {"text": "Highlights show how the system came to its answer.", "only": ["explained"]},
    {
        "text": "Then the question, or the text that the system reads, is changed. Say what the system will "
        "answer now, even if you think that it is wrong. If you cannot tell, say so. Please do not look "
        "anything up."
    },
]


class Start(NamedTuple):
    """A template; ``scales`` are asked after the items, by name.

    ``task`` is that of a task which asks questions of its own.
    """

    title: str
    about: str
    design: str = "between"
    scales: tuple[str, ...] = ()
    is_empty: bool = False
    task: str = ""


STARTS: dict[str, Start] = {
    "xqa-2020": Start(
        "The 2020 study",
        "Questionnaire and exclusion rules of Schuff et al. (2020): 25 items, four questions beside each, "
        "four at the end.",
    ),
    "workload": Start(
        "The 2020 study with workload and usability",
        "As above, and at the end the raw Task Load Index and UMUX-Lite.",
        scales=("nasa-tlx", "umux-lite"),
    ),
    "within": Start(
        "The 2020 study within subjects",
        "As above, but every participant sees all conditions, in the order of a Latin square.",
        design="within",
    ),
    "advice": Start(
        "Advice",
        "Participants answer, see a system’s answer with or without its explanation, and answer again; a "
        "control condition shows no answer.",
        task="advice",
    ),
    "counterfactual": Start(
        "Counterfactual",
        "Participants see a system’s answer with or without its explanation, and predict what it answers "
        "after a change.",
        task="counterfactual",
    ),
    "empty": Start("An empty study", "One question beside every item and no rules.", is_empty=True),
}


def draft(
    start: Start,
    *,
    slug: str,
    title: str,
    title_for_participants: str = "",
    dataset: str,
    systems: Sequence[str],
) -> Draft:
    """Return the draft of a new study: a condition per system and gold."""
    questionnaire = TEMPLATES["xqa-2020"].model_dump(mode="json", exclude_none=True)
    if start.is_empty:
        questionnaire = {"item": questionnaire["item"][:1], "post_survey": []}
    if start.task:
        questionnaire = TEMPLATES[start.task].model_dump(mode="json", exclude_none=True)
    questionnaire["post_survey"] += [{"template": name} for name in start.scales]
    content: Draft = {
        "study": slug,
        "title": title,
        **({"title_for_participants": title_for_participants} if title_for_participants else {}),
        **({"dataset": dataset} if dataset else {}),
        "conditions": [*({"system": name} for name in systems), {"ground_truth": True}],
        "items": {"count": 25, "seed": 1},
        "questionnaire": questionnaire,
        "consent": CONSENT,
        "instructions": INSTRUCTIONS,
        "exclusions": [] if start.is_empty else [rule.model_dump(mode="json") for rule in RULES_2020],
    }
    if start.task:
        return content | _of_task(start.task, dataset, systems)
    return content | ({"design": start.design} if start.design != "between" else {})


def _of_task(task: str, dataset: str, systems: Sequence[str]) -> Draft:
    """Return what is different in a study with a task."""
    # A name to begin with, so that the preview has a change to show; the step says if it is unknown.
    source = {"source": f"{dataset}-changed"} if task == "counterfactual" and dataset else {}
    control = [{"advice": False}] if task == "advice" else []
    shown = [{"system": name, **more} for name in systems for more in ({"explanation": "none"}, {})]
    consent, instructions = {
        "advice": (ADVICE_CONSENT, ADVICE_INSTRUCTIONS),
        "counterfactual": (COUNTERFACTUAL_CONSENT, COUNTERFACTUAL_INSTRUCTIONS),
    }[task]
    return {
        "task": {"kind": task, **source},
        "conditions": [*control, *shown],
        "consent": consent,
        "instructions": instructions,
        "exclusions": [rule.model_dump(mode="json") for rule in RULES_2020[:2]],
    }


def from_file(content: Draft, *, slug: str) -> Draft:
    """Return the draft that was read from a file, under the study's own name."""
    return opened(content | {"study": slug})
