"""Write the reference page of study definitions from the definition.

``python -m studyapp.definition.reference_page > docs/reference/study-definition.md``; a test compares the
two.
"""

import sys
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from studyapp.definition import analysis_plan, checks, conditions, exclusion_rules, tasks
from studyapp.definition import schema as form
from studyapp.definition.languages.translations import Translation
from studyapp.definition.participation.privacy import Privacy
from studyapp.definition.participation.recruitment import Ending, Recruitment
from studyapp.definition.questions.answer_scales import (
    Choice,
    LikertScale,
    MatrixRow,
    MatrixScale,
    MultipleChoice,
    NumberScale,
    RankingScale,
    SingleChoice,
    SliderScale,
    TextField,
)
from studyapp.definition.questions.display import InstructionPart, Range, ShowIf
from studyapp.definition.questions.question import Question, QuestionImage, Role
from studyapp.definition.questions.questionnaires import TEMPLATES, Questionnaire
from studyapp.definition.questions.scale_scores import PUBLISHED, ScaleKey
from studyapp.definition.questions.scales import SCALES

_INTRODUCTION = """\
<!-- Made by `.venv/bin/python -m studyapp.definition.reference_page`: change the schema, not this page. -->
# The study definition

`.venv/bin/python manage.py create_study FILE.yaml` reads a study from a YAML file. \
[An example](../examples/study.yaml) shows most fields; [how to run a study](../how-to/run-a-study.md) \
explains its use. An unknown field, a repeated field and an invalid value are errors that name file, \
line and field.

Launching a study freezes everything below, with the texts, answers and facts that it refers to, into a \
version with a hash. A change makes a new version at the next launch; participants in progress keep \
their version.
"""

_SECTIONS: list[tuple[str, str, type[BaseModel]]] = [
    ("The study", "", form.StudyDefinition),
    ("task: verification", "The default. It has no options.", tasks.Verification),
    (
        "task: advice",
        "Each item has two pages: the participant's own answer, then the same with the system's answer and "
        "its explanation and the final answer. The first page is stored before the second is sent.",
        tasks.Advice,
    ),
    ("task: advice: time_limits", "", tasks.AdviceLimits),
    ("task: advice: bonus", "", tasks.Bonus),
    (
        "task: simulation",
        "Items come in three blocks: a test, a learning block, and a second test (Hase and Bansal 2020). "
        "On each page people predict what the system answers; in the learning block a second page then "
        "shows the answer and, by condition, its explanation, with the questions of the role "
        "`helpfulness`. All other questions of an item are asked with its prediction. The system is right "
        "in half of every block, by exact match; which item comes in which block is drawn for each "
        "participant. `items` needs a seed only, or as many `ids` as the blocks have items. The answers "
        "to choose from are those of the system, of gold and of other systems, and what the articles "
        "mention of their type. All of it is frozen.",
        tasks.Simulation,
    ),
    ("task: simulation: blocks", "", tasks.Blocks),
    ("task: simulation: time_limits", "", tasks.SimulationLimits),
    (
        "task: counterfactual",
        "Each item has one page: the question with the system's answer and, by condition, its explanation; "
        "then what was changed, and the prediction of what the system answers now, or “cannot tell”. "
        "Items are drawn among the questions with a changed item that every condition can ask about; of "
        "several changed items of a question one is drawn, by the seed of the items. The answers to choose "
        "from are those of the system to the changed item and to the original, the gold answers, those of "
        "other systems with predictions on the changed items, and what the articles mention of their type. "
        "All of it is frozen. Answers are compared after the normalisation of HotpotQA.",
        tasks.Counterfactual,
    ),
    ("task: counterfactual: time_limits", "", tasks.PredictionLimits),
    (
        "task: preference",
        "Each item has one page with two conditions side by side, named A and B; a phone shows one below "
        "the other. Participants say which is better, on each criterion. All participants compare all "
        "conditions (`design: within`). The pairs rotate over the items from participant to participant, "
        "and the sides are exchanged: after as many participants as there are ordered pairs, every item has "
        "shown every pair once in each order. A participant sees as many pairs as there are items.",
        tasks.Preference,
    ),
    ("task: preference: criteria", "", tasks.Criterion),
    ("task: preference: time_limits", "", tasks.ComparisonLimits),
    (
        "conditions",
        "A list. Each has either a system or the ground truth. Tokens are highlighted in three strengths by "
        "the weights that came with the predictions or that `predict --saliency METHOD` computed: those of "
        "tokens where they are known, else, without `--saliency`, the probability of each fact; an item for "
        "which neither is known is not shown. The frozen version names the method. Tokens of the question "
        "are highlighted on the same scale if their weights are known. Of the largest weight of an item a "
        "token needs at least 10 % to be highlighted, 40 % for the second strength and "
        "70 % for the third; a weight at or below 0 never is.",
        conditions.ConditionDefinition,
    ),
    (
        "items",
        "Either `count` and `seed`, or `ids`. Items are drawn among the questions for which every condition "
        "has an answer to show; the ground truth needs known gold facts too.",
        conditions.ItemsDefinition,
    ),
    ("items: stratify", "", conditions.Stratified),
    (
        "questionnaire",
        "Questions beside each item, and once before and after all of them. With `template: xqa-2020` "
        "what is left out is taken from that template. In a list of questions `{template: NAME}` stands for "
        "all questions of a scale, see at the end. In `pre_survey`, `post_survey` and `screening`, "
        "`{heading: …, text: …}` begins a section and `{page_break: true}` a page; they are stored with the "
        "question that follows. The server stores page by page and says which page is next; the export has "
        "one row for all pages, with the times of the browser added up. A shuffled question stays behind the "
        "one that it depends on.",
        Questionnaire,
    ),
    (
        "A question",
        "With `only` or `except`, each item asks the questions of its condition; surveys, attention items "
        "and instructions go by all conditions that the participant sees. A question that is not asked or "
        "not shown stores nothing; the codebook says when that is so. The orders that were drawn are in the "
        "columns `question_order` and `KEY_order`. Instructions that differ are shown after the assignment.",
        Question,
    ),
    (
        "show_if",
        "The question appears as soon as the earlier one is answered so. Without JavaScript it is always on "
        "the page, with its condition written out. The server drops answers to questions that were not to be "
        "asked, and does not miss them.",
        ShowIf,
    ),
    ("instructions: a part", "", InstructionPart),
    ("A question: image", "", QuestionImage),
    ("scale: a rating", "", LikertScale),
    ("scale: one of several choices", "", SingleChoice),
    ("scale: any number of choices", "", MultipleChoice),
    ("A choice", "", Choice),
    ("scale: a number", "", NumberScale),
    ("scale: a slider", "", SliderScale),
    ("scale: a matrix", "", MatrixScale),
    ("scale: a row of a matrix", "", MatrixRow),
    ("scale: a ranking", "", RankingScale),
    ("scale: a text", "", TextField),
    (
        "scales",
        "A mapping of name to key, or a list. Published scales, see the end, are scored by their keys if "
        "all their items are asked on one page in their form. Give a key here for a scale of your own, for a "
        "subscale, or, under the name of a published scale, for a version with another key. A score is in "
        "the column `score_NAME` of the table that holds its items, and in the report.",
        ScaleKey,
    ),
    (
        "screening",
        "A list of questions, with the fields of a question and one more. An answer outside `accept` screens "
        "the participant out.",
        checks.ScreeningQuestion,
    ),
    ("screening: a range", "", Range),
    ("comprehension", "", checks.Comprehension),
    (
        "comprehension: a question",
        "With the fields of a question, and one more.",
        checks.ComprehensionQuestion,
    ),
    (
        "attention",
        "A list of pages among the items that show whether participants read. `instructed` shows your text "
        "in place of a question and asks for certain answers. `contradiction` shows a question of the "
        "dataset with its gold facts, and an answer of yours that they contradict. They are the same in "
        "every condition, and never enter the measures.",
        checks.AttentionDefinition,
    ),
    (
        "translations",
        "By language, all texts of the study. Participants choose among the languages that are complete and "
        "that the site speaks. Our own template and scales are already translated into German. Items stay "
        "in the language of their dataset; yes and no are the site's own words.",
        Translation,
    ),
    *((f"exclusions: {kind}", "", model) for kind, model in exclusion_rules.KINDS.items()),
    ("completion", "", form.CompletionDefinition),
    (
        "recruitment",
        "[How to recruit](../how-to/recruit.md) shows one for each platform. A link may have its own.",
        Recruitment,
    ),
    ("recruitment: an outcome", "", Ending),
    ("privacy", "[Privacy](privacy.md) says what each does.", Privacy),
    (
        "plan",
        "The report and the pre-registration of the version use it; `--plan FILE` replaces it. Without a "
        "plan all comparisons are exploratory. [How it is used](inference.md).",
        analysis_plan.AnalysisPlan,
    ),
    ("plan: a comparison of the family", "", analysis_plan.Contrast),
    ("plan: a margin", "", analysis_plan.Margin),
    ("plan: interim_analyses", "", analysis_plan.InterimAnalyses),
]

_DESCRIPTIONS = {
    "key": "name of the column: lower-case letters, digits, `_`",
    "text": "the wording",
    "scale": "`yes_no`, or a mapping: `points` with `labels` or `ends`, or a `kind` with its fields",
    "role": "role in the analysis: " + ", ".join(f"`{role}`" for role in get_args(Role)),
    "required": "`true` if participants must answer to continue",
    "points": "2 to 101 steps, stored as 1, 2, …",
    "labels": "a word label for each step, lowest first; or in their place `ends`, the two at the ends",
    "at_least": "the smallest number that passes",
    "at_most": "the largest number that passes",
}


def build_page() -> str:
    """Return the whole page, in Markdown."""
    return "\n".join(
        [_INTRODUCTION, *(_format_section(*section) for section in _SECTIONS), _format_templates()]
    )


def _format_section(title: str, introduction: str, model: type[BaseModel]) -> str:
    lines = [f"## {title}", "", introduction or " ".join(str(model.__doc__).split()).replace("``", "`"), ""]
    lines += ["| field | default | meaning |", "|---|---|---|"]
    inherited = Question.model_fields if issubclass(model, Question) and model is not Question else {}
    for name, field in model.model_fields.items():
        if name in inherited:
            continue
        meaning = field.description or _DESCRIPTIONS[name]
        lines.append(f"| `{field.alias or name}` | {_format_default(field)} | {meaning} |")
    return "\n".join([*lines, ""])


def _format_default(field: FieldInfo) -> str:
    default = field.default
    if field.is_required():
        return "required"
    if isinstance(default, bool | int | float):
        return f"`{str(default).lower()}`"
    if default is exclusion_rules.RULES_2020:
        return "the rules of the 2020 study"
    if isinstance(default, tasks.Verification):
        return f"`{default.kind}`"
    if default == TEMPLATES["xqa-2020"]:
        return "`xqa-2020`"
    if isinstance(default, list) and default:
        return ", ".join(default)
    if isinstance(default, str) and default:
        return f"`{default}`"
    return "see below" if isinstance(default, BaseModel) else "none"


def _format_templates() -> str:
    lines = ["## Defaults of the 2020 study", ""]
    lines += [
        f"Rules: {_format_rules(exclusion_rules.RULES_2020)}. A questionnaire without the key `known_before` "
        f"takes "
        f"the first two; with the template `pictures`: {_format_rules(exclusion_rules.RULES_PICTURES)}.",
        "",
    ]
    lines += [
        "In a study with `language: de`, and in German `translations`, templates and scales below ask in "
        "German. The translations are ours, not validated versions of the scales. Items that have to be "
        "entered have no German text here; enter those of a published translation.",
        "",
    ]
    for name, questionnaire in TEMPLATES.items():
        lines += [f"The template `{name}` asks, beside every item and then at the end:", ""]
        lines += ["| key | wording | scale | conditions |", "|---|---|---|---|"]
        for question in [*questionnaire.item, *questionnaire.post_survey]:
            scale = "yes, no" if question.kind == "yes_no" else f"1 to {len(question.choices)}"
            lines.append(f"| `{question.key}` | {question.text} | {scale} | {_format_conditions(question)} |")
    return "\n".join([*lines, "", _format_scales()])


def _format_rules(rules: Sequence[exclusion_rules.RuleDefinition]) -> str:
    return "; ".join(_format_rule(rule.freeze().model_dump()) for rule in rules)


def _format_conditions(question: Question) -> str:
    if question.unexplained_text:
        return f"all; without explanations: {question.unexplained_text}"
    return ", ".join(f"`{name}`" for name in question.only or ()) or "all"


def _format_scales() -> str:
    lines = ["## Scales by name", ""]
    lines += [
        "A scale whose wording is not free to quote has its form here and takes its items, in order, in "
        "`items`. `only` picks questions by key. `required: false` makes them optional; `demographics` "
        "always are. A question is named by its key.",
        "",
        "| name | scale | measures | source | points | keys |",
        "|---|---|---|---|---|---|",
    ]
    for name, scale in SCALES.items():
        points = scale.form.get("points", "–")
        entered = f"{scale.entered or 'any number of'} items, to be entered"
        keys = ", ".join(f"`{key}`" for key in scale.items) or entered
        lines.append(f"| `{name}` | {scale.title} | {scale.measures} | {scale.source} | {points} | {keys} |")
    return "\n".join([*lines, "", _format_keys()])


def _format_keys() -> str:
    lines = ["## Scores of published scales", ""]
    lines += [
        "A score is the mean of the items after reversing, set on the range. Participants who left out an "
        "item have none. Performance of NASA-TLX runs from perfect to failure, so it is not reversed; its 21 "
        "gradations count 0 to 100 in steps of 5.",
        "",
        "| score | scale | reversed items | range | higher means | key after |",
        "|---|---|---|---|---|---|",
    ]
    for name, key in PUBLISHED.items():
        low, high = key.range or (1, SCALES[key.scale].form["points"])
        ends = f"{key.slope * low + key.intercept:g} to {key.slope * high + key.intercept:g}"
        reverse = ", ".join(map(str, key.reverse)) or "none"
        column = "score_" + name.replace("-", "_")
        lines.append(f"| `{column}` | {key.title} | {reverse} | {ends} | {key.higher} | {key.source} |")
    return "\n".join([*lines, ""])


def _format_rule(rule: dict[str, Any]) -> str:
    if rule["kind"] == "answered":
        return f"`{rule['name']}` where `{rule['question']}` is {str(rule['value']).lower()}"
    side = "under" if rule["kind"] == "min_time" else "over"
    return f"`{rule['name']}` {side} {rule['milliseconds'] / 1000:g} s on the {rule['clock']} clock"


if __name__ == "__main__":
    sys.stdout.write(build_page())
