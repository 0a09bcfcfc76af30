"""Texts that a new study begins with, by its task.

Pure: no Django.
"""

from typing import Any

# The description of the task in the consent.
TASK_SENTENCES = {
    "verification": "You will see questions, each with the answer of a system, and judge whether the answer "
    "is correct.",
    "simulation": "You will see questions, and predict what a system answers to them, before and after you "
    "see some of its answers.",
    "counterfactual": "You will see questions, each with the answer of a system, and predict what the system "
    "answers after a change.",
    "preference": "You will see questions, each with two answers of systems and their explanations side by "
    "side, and say which is better.",
    "advice": "You will answer questions, and may then see the answer of a system before you answer again.",
}

CONSENT = """\
You take part in a study of question answering systems and their explanations. {does}

Taking part is voluntary. You may stop at any time by closing the page. Your answers are stored under a \
random number, without your name, together with their times and the kind of your device (phone, tablet or \
desktop computer).

[Say here who does the research and why, how long it takes, what is paid, and whom to ask.]"""

TITLE_FOR_PARTICIPANTS = "A study of computer answers"

INSTRUCTIONS: dict[str, str | list[dict[str, Any]]] = {
    "verification": "Read the question, the answer and what is highlighted. Then say whether you think that "
    "the answer is correct. Please do not look anything up.",
    "advice": [
        {
            "text": "Read the question and the articles, and give your own answer. "
            "Please do not look anything up."
        },
        {
            "text": "Then you see the answer of a system, which may be wrong. Keep your answer or change it.",
            "only": ["advised"],
        },
        {"text": "Then you are asked again. Keep your answer or change it.", "except": ["advised"]},
    ],
    "simulation": [
        {
            "text": "Read the question and the articles, and say what a system will answer, even if you "
            "think that it is wrong. Please do not look anything up."
        },
        {
            "text": "In the second of three parts you see the answer of the system after each prediction. "
            "Learn from it for the third part."
        },
        {"text": "Highlights then show how the system came to its answer.", "only": ["explained"]},
    ],
    "counterfactual": [
        {"text": "You see a question and the answer of a system, which may be wrong."},
        {"text": "Highlights show how the system came to its answer.", "only": ["explained"]},
        {
            "text": "Then the question, or the text that the system reads, is changed. Say what the system "
            "will answer now, even if you think that it is wrong. If you cannot tell, say so. Please do "
            "not look anything up."
        },
    ],
    "preference": "Read the question, then A and B. Each is the answer of a system with its explanation, and "
    "may be wrong. Say which of the two is better; decide by what you see. Please do not look anything up.",
}

# Of studies of pictures, whose task is verification.
TASK_SENTENCE_PICTURES = (
    "You will see sentences about pictures, each with the answer of a system, and judge whether the answer "
    "is correct."
)
INSTRUCTIONS_PICTURES = (
    "Look at the pictures, read the sentence and the answer, and the steps if there are any: they may be "
    "wrong even if the answer is right. Then say whether you think that the answer is correct."
)
