"""Templates that a new study can start from.

A literal table of drafts. Pure: no Django.
"""

from collections.abc import Sequence
from typing import NamedTuple

from studyapp.definition.exclusion_rules import RULES_2020, RULES_PICTURES
from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.definition.tasks import Blocks
from studyapp.studio.drafts import Draft, open_draft
from studyapp.studio.texts import (
    CONSENT,
    INSTRUCTIONS,
    INSTRUCTIONS_PICTURES,
    TASK_SENTENCE_PICTURES,
    TASK_SENTENCES,
)


class Start(NamedTuple):
    """A template; ``scales`` are asked after the items, by name.

    ``task`` is that of a task which asks questions of its own. ``is_pictures`` is for sentences about
    pictures, explained by the steps of programs.
    """

    title: str
    about: str
    design: str = "between"
    scales: tuple[str, ...] = ()
    is_empty: bool = False
    task: str = ""
    is_pictures: bool = False


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
    "simulation": Start(
        "Simulation",
        "Participants predict a system’s answers, see some of its answers with or without explanations, and "
        "predict again.",
        task="simulation",
    ),
    "counterfactual": Start(
        "Counterfactual",
        "Participants see a system’s answer with or without its explanation, and predict what it answers "
        "after a change.",
        task="counterfactual",
    ),
    "pictures": Start(
        "Pictures and programs",
        "Participants judge answers to sentences about pictures, with the steps of a program: questions and "
        "exclusion rules that fit pictures.",
        is_pictures=True,
    ),
    "preference": Start(
        "Preference",
        "Participants see two systems side by side and say whose explanation or answer is better; every pair "
        "as often, each as often on the left.",
        task="preference",
    ),
    "empty": Start("An empty study", "One question beside every item and no rules.", is_empty=True),
}


def build_draft(
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
        "consent": CONSENT.format(does=TASK_SENTENCES["verification"]),
        "instructions": INSTRUCTIONS["verification"],
        "exclusions": [] if start.is_empty else [rule.model_dump(mode="json") for rule in RULES_2020],
    }
    if start.task:
        return content | _build_task_parts(start.task, dataset, systems)
    if start.is_pictures:
        return content | _build_picture_parts(content["conditions"])
    return content | ({"design": start.design} if start.design != "between" else {})


def _build_picture_parts(conditions: Sequence[Draft]) -> Draft:
    """Return what is different in a study of pictures and programs."""
    return {
        "conditions": [{**condition, "explanation": "program"} for condition in conditions],
        "questionnaire": TEMPLATES["pictures"].model_dump(mode="json", exclude_none=True),
        "consent": CONSENT.format(does=TASK_SENTENCE_PICTURES),
        "instructions": INSTRUCTIONS_PICTURES,
        "exclusions": [rule.model_dump(mode="json") for rule in RULES_PICTURES],
    }


def _build_task_parts(task: str, dataset: str, systems: Sequence[str]) -> Draft:
    """Return what is different in a study with a task."""
    # A name to begin with, so that the preview has a change to show; the step says if it is unknown.
    source = {"source": f"{dataset}-changed"} if task == "counterfactual" and dataset else {}
    control = [{"advice": False}] if task == "advice" else []
    # Explanations are compared with each other; in other tasks, with none.
    styles: list[Draft] = [{}] if task == "preference" else [{"explanation": "none"}, {}]
    shown = [{"system": name, **more} for name in systems for more in styles]
    if task == "preference":
        shown.append({"ground_truth": True})
    items = {"items": {"count": Blocks().total, "seed": 1}} if task == "simulation" else {}
    return {
        "task": {"kind": task, **source},
        **items,
        "conditions": [*control, *shown],
        "consent": CONSENT.format(does=TASK_SENTENCES[task]),
        "instructions": INSTRUCTIONS[task],
        "exclusions": [rule.model_dump(mode="json") for rule in RULES_2020[:2]],
    }


def from_file(content: Draft, *, slug: str) -> Draft:
    """Return the draft that was read from a file, under the study's own name."""
    return open_draft(content | {"study": slug})
