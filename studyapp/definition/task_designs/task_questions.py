"""The questions that a task asks by itself, page by page.

Pure: no Django. They are no part of the frozen study: they follow from its task, the item and what the
participant answered before. Their words go through ``words``, which translates them for participants.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.scores import hotpotqa
from studyapp.definition.frozen.freezing import Shown
from studyapp.definition.questions.answer_scales import Choice, LikertScale, Scale, SingleChoice, TextField
from studyapp.definition.questions.display import ShowIf
from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.task_designs.comparing import COMPARISON, list_comparison_questions
from studyapp.definition.tasks import Advice, Counterfactual, Predicting, Preference, Simulation, Task

Words = Callable[[str], str]

INITIAL, FINAL = "initial", "final"
ADVICE_PAGES = (INITIAL, FINAL)
# One page shows the original with its explanation, and the change: people predict with the explanation in
# sight, as in Chen et al. (2024, ICML), and a second page would test their memory of it instead.
PREDICTION = "prediction"
# In the learning block of a simulation: the answer, once its prediction is stored.
ANSWER = "answer"
LEARNING_PAGES = (PREDICTION, ANSWER)
# The field of a prediction; stored are `predicted_answer` or `predicted_correct`, and `cannot_tell`.
PREDICTED, CANNOT_TELL = "predicted_choice", "cannot_tell"
# The field of the final page by which people keep, take over or replace an answer; only the answer is stored.
CHOICE = "final_choice"
MINE, SYSTEM, OTHER = "mine", "system", "other"
LONGEST = 200  # characters of an own answer
YES_NO = ["yes", "no"]

TEXTS = {
    "initial_answer": "What is your answer?",
    "initial_confidence": "How confident are you that your answer is correct?",
    "final_answer": "What is your final answer?",
    "final_confidence": "How confident are you that your final answer is correct?",
    "predicted_answer": "What will the system answer now?",
    "predicted_correct": "Will the system’s answer be correct now?",
    CANNOT_TELL: "I cannot tell from this",
}
# For items that are not changed.
SIMULATION_TEXTS = {
    "predicted_answer": "What will the system answer?",
    "predicted_correct": "Will the system’s answer be correct?",
}
CONFIDENCE = (
    "Not at all confident",
    "Slightly confident",
    "Moderately confident",
    "Very confident",
    "Extremely confident",
)
_OPTION_WORDS = {"yes": "Yes", "no": "No"}


def list_task_pages(task: Task, block: str = "") -> Sequence[str]:
    """Return the names of the pages of an item; none if its task asks nothing.

    ``block`` is that of an item of a simulation.
    """
    if isinstance(task, Simulation) and block == "learning":
        return LEARNING_PAGES
    if isinstance(task, Predicting):
        return (PREDICTION,)
    if isinstance(task, Preference):
        return (COMPARISON,)
    return ADVICE_PAGES if isinstance(task, Advice) else ()


def limit_of(task: Task, page: str) -> int | None:
    """Return the seconds that a page of an item allows; None for any."""
    limits = getattr(task, "time_limits", None) if page else None
    return getattr(limits, page) if limits else None


def list_options(gold: str | None, labels: Sequence[str]) -> list[str]:
    """Return the answers that a question lets people choose among.

    These are its labels, or yes and no if it asks for one of them; else people type, and there are none.
    """
    if labels:
        return list(labels)
    return YES_NO if hotpotqa.normalise_answer(gold or "") in YES_NO else []


def build_initial_page(task: Advice, options: Sequence[str], words: Words = str) -> list[Question]:
    """Return the questions before the advice.

    Args:
        task: The task.
        options: The answers to choose among; the participant types if there are none.
        words: Translates a text.
    """
    return [
        _build_answer_question("initial_answer", options, words),
        *_list_confidence_questions(task, INITIAL, words),
    ]


def build_final_page(
    task: Advice, options: Sequence[str], given: str | None, advice: str | None, words: Words = str
) -> list[Question]:
    """Return the questions beside the advice.

    Args:
        task: The task.
        options: The answers to choose among; the participant types if there are none.
        given: The first answer; None if there is none.
        advice: The answer of the system; None in the control condition.
        words: Translates a text.
    """
    confidence = _list_confidence_questions(task, FINAL, words)
    if options:
        is_new = advice is not None and not any(hotpotqa.exact_match(option, advice) for option in options)
        more = [advice] if is_new and advice is not None else []
        return [_build_answer_question("final_answer", [*options, *more], words), *confidence]
    kept = _build_final_choices(given, advice, words)
    if not kept:
        return [_build_answer_question("final_answer", (), words), *confidence]
    text = words(TEXTS["final_answer"])
    choice = _build_question(CHOICE, text, _build_choices({**kept, OTHER: words("Another answer")}))
    shown = ShowIf.model_validate({"question": CHOICE, "is": [OTHER]})
    other = _build_answer_question("final_answer", (), words, show_if=shown, text=words("The other answer"))
    return [choice, other, *confidence]


def build_prediction_page(task: Predicting, options: Sequence[str], words: Words = str) -> list[Question]:
    """Return the question for what the system answers.

    Args:
        task: The task.
        options: The answers to choose among, if it asks for the answer.
        words: Translates a text.
    """
    asks_answer = task.ask == "answer"
    offered = options if asks_answer else YES_NO
    labels = {option: label_answer(option, words) for option in offered}
    if isinstance(task, Counterfactual):
        labels[CANNOT_TELL] = words(TEXTS[CANNOT_TELL])
    text = _select_texts(task)["predicted_answer" if asks_answer else "predicted_correct"]
    return [_build_question(PREDICTED, words(text), _build_choices(labels))]


def label_answer(answer: str, words: Words = str) -> str:
    """Return an answer as people read it: yes and no in their language."""
    return words(_OPTION_WORDS.get(answer, answer))


def select_page_questions(task: Task, page: str, questions: Sequence[Question]) -> list[Question]:
    """Return the questions of the questionnaire that a page of an item asks.

    In a simulation, the helpfulness of explanations is asked where answers are shown, and all else with the
    prediction. Other tasks ask on their last page.

    Args:
        task: The task.
        page: The page; empty for an attention item, which shows no explanation.
        questions: Those of an item.
    """
    if not isinstance(task, Simulation):
        return list(questions)
    return [question for question in questions if (question.role == "helpfulness") == (page == ANSWER)]


def list_task_questions(
    task: Task,
    page: str,
    options: Sequence[str],
    given: str | None,
    advice: str | None,
    words: Words = str,
) -> list[Question]:
    """Return the task's questions of a page of an item.

    The arguments are those of `build_initial_page`, `build_final_page` and `build_prediction_page`.
    """
    match task:
        case Counterfactual() | Simulation():
            return build_prediction_page(task, options, words) if page == PREDICTION else []
        case Advice() if page == INITIAL:
            return build_initial_page(task, options, words)
        case Advice():
            return build_final_page(task, options, given, advice, words)
    return list_comparison_questions(task, words)


def list_all_questions(task: Task, words: Words = str) -> list[Question]:
    """Return the questions whose answers an item stores for its task."""
    if isinstance(task, Predicting):
        texts = _select_texts(task)
        keys = ("predicted_correct", *([CANNOT_TELL] if isinstance(task, Counterfactual) else []))
        yes_no = [_build_question(key, words(texts[key]), "yes_no") for key in keys]
        return [
            _build_answer_question("predicted_answer", (), words, text=words(texts["predicted_answer"])),
            *yes_no,
        ]
    if not isinstance(task, Advice):
        return list_comparison_questions(task, words)
    pages = (build_initial_page(task, (), words), build_final_page(task, (), None, None, words))
    return [question for page in pages for question in page]


def list_check_questions(task: Task, words: Words = str) -> list[Question]:
    """Return the questions of the task that attention items ask too."""
    return [*_list_confidence_questions(task, FINAL, words), *list_comparison_questions(task, words)]


def resolve_answers(
    task: Task, answers: Mapping[str, Answer], earlier: Mapping[str, Answer], advice: str | None
) -> dict[str, Answer]:
    """Return the answers of a page with the own answers that they stand for.

    A kept or taken answer is written out, and white space is joined. A prediction becomes an answer, a truth
    value, or “cannot tell”.
    """
    if PREDICTED in answers:
        return _resolve_prediction(task, answers)
    rest = {key: answer for key, answer in answers.items() if key != CHOICE}
    chosen = {MINE: earlier.get("initial_answer"), SYSTEM: advice}.get(str(answers.get(CHOICE)))
    if chosen is not None:
        rest["final_answer"] = chosen
    for key in ("initial_answer", "final_answer"):
        if isinstance(text := rest.get(key), str):
            rest[key] = " ".join(text.split())
    return rest


def _resolve_prediction(task: Task, answers: Mapping[str, Answer]) -> dict[str, Answer]:
    rest = {key: answer for key, answer in answers.items() if key != PREDICTED}
    choice = answers[PREDICTED]
    can_decline = isinstance(task, Counterfactual)
    if can_decline and choice == CANNOT_TELL:
        return rest | {CANNOT_TELL: True}
    asks_answer = isinstance(task, Predicting) and task.ask == "answer"
    given = {"predicted_answer": choice} if asks_answer else {"predicted_correct": choice == YES_NO[0]}
    return rest | given | ({CANNOT_TELL: False} if can_decline else {})


def is_prediction_right(given: Mapping[str, Any], shown: Shown) -> bool | None:
    """Return whether a prediction is what the system did; None without one."""
    system_answer, is_correct = shown.outcome
    if (answer := given.get("predicted_answer")) is not None:
        return hotpotqa.exact_match(system_answer or "", answer)
    if (correct := given.get("predicted_correct")) is not None:
        return bool(correct == is_correct)
    return None


def _select_texts(task: Predicting) -> dict[str, str]:
    return TEXTS | SIMULATION_TEXTS if isinstance(task, Simulation) else TEXTS


def _build_final_choices(given: str | None, advice: str | None, words: Words) -> dict[str, str]:
    """Return the choices to keep the own answer and to take the advice."""
    if given is not None and advice is not None and hotpotqa.exact_match(advice, given):
        return {MINE: words("“%(answer)s” – my first answer, and the system’s") % {"answer": given}}
    mine = {} if given is None else {MINE: words("My first answer: “%(answer)s”") % {"answer": given}}
    if advice is None:
        return mine
    return mine | {SYSTEM: words("The system’s answer: “%(answer)s”") % {"answer": advice}}


def _build_answer_question(key: str, options: Sequence[str], words: Words, **fields: Any) -> Question:
    scale: Scale = TextField(kind="text", lines=1, max_length=LONGEST)
    if options:
        scale = _build_choices({option: label_answer(option, words) for option in options})
    return _build_question(key, fields.pop("text", None) or words(TEXTS[key]), scale, **fields)


def _list_confidence_questions(task: Task, page: str, words: Words) -> list[Question]:
    if not (isinstance(task, Advice) and task.confidence):
        return []
    key = f"{page}_confidence"
    scale = LikertScale(points=len(CONFIDENCE), labels=[words(label) for label in CONFIDENCE])
    return [_build_question(key, words(TEXTS[key]), scale)]


def _build_choices(labels: Mapping[str, str]) -> SingleChoice:
    """Return choices whose values are answers, which may have any form."""
    choices = [Choice.model_construct(value=value, label=label) for value, label in labels.items()]
    return SingleChoice.model_construct(kind="single", choices=choices)


def _build_question(key: str, text: str, scale: Scale, **fields: Any) -> Question:
    return Question.model_construct(key=key, text=text, scale=scale, role=None, **fields)
