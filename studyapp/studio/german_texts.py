"""The texts that a new study begins with, in German.

Pure: no Django.
"""

from collections.abc import Mapping
from typing import Any

# Passages of `texts`, with our translation.
GERMAN = {
    "A study of computer answers": "Eine Studie über Antworten von Computern",
    "You take part in a study of question answering systems and their explanations.": (
        "Sie nehmen an einer Studie über Frage-Antwort-Systeme und ihre Erklärungen teil."
    ),
    "You will see questions, each with the answer of a system, and judge whether the answer is correct.": (
        "Sie sehen Fragen, jede mit der Antwort eines Systems, und beurteilen, ob die Antwort richtig ist."
    ),
    "You will see questions, and predict what a system answers to them, before and after you see some of its "
    "answers.": (
        "Sie sehen Fragen und sagen vorher, was ein System darauf antwortet, bevor und nachdem Sie einige "
        "seiner Antworten sehen."
    ),
    "You will see questions, each with the answer of a system, and predict what the system answers after a "
    "change.": (
        "Sie sehen Fragen, jede mit der Antwort eines Systems, und sagen vorher, was das System nach einer "
        "Änderung antwortet."
    ),
    "You will see questions, each with two answers of systems and their explanations side by side, and say "
    "which is better.": (
        "Sie sehen Fragen, jede mit zwei Antworten von Systemen und deren Erklärungen nebeneinander, und "
        "sagen, welche besser ist."
    ),
    "You will answer questions, and may then see the answer of a system before you answer again.": (
        "Sie beantworten Fragen und sehen danach vielleicht die Antwort eines Systems, bevor Sie noch einmal "
        "antworten."
    ),
    "You will see sentences about pictures, each with the answer of a system, and judge whether the answer "
    "is correct.": (
        "Sie sehen Sätze über Bilder, jeden mit der Antwort eines Systems, und beurteilen, ob die Antwort "
        "richtig ist."
    ),
    "Taking part is voluntary. You may stop at any time by closing the page. Your answers are stored under a "
    "random number, without your name, together with their times and the kind of your device (phone, tablet "
    "or desktop computer).": (
        "Die Teilnahme ist freiwillig. Sie können jederzeit aufhören, indem Sie die Seite schließen. Ihre "
        "Antworten werden unter einer zufälligen Nummer und ohne Ihren Namen gespeichert, zusammen mit den "
        "Zeiten und der Art Ihres Geräts (Telefon, Tablet oder Computer)."
    ),
    "[Say here who does the research and why, how long it takes, what is paid, and whom to ask.]": (
        "[Nennen Sie hier, wer wozu forscht, wie lange es dauert, was gezahlt wird und wer Fragen "
        "beantwortet.]"
    ),
    "Read the question, the answer and what is highlighted. Then say whether you think that the answer is "
    "correct. Please do not look anything up.": (
        "Lesen Sie die Frage, die Antwort und das Hervorgehobene. Sagen Sie dann, ob Sie die Antwort für "
        "richtig halten. Bitte schlagen Sie nichts nach."
    ),
    "Read the question and the articles, and give your own answer. Please do not look anything up.": (
        "Lesen Sie die Frage und die Artikel und geben Sie Ihre eigene Antwort. Bitte schlagen Sie "
        "nichts nach."
    ),
    "Then you see the answer of a system, which may be wrong. Keep your answer or change it.": (
        "Danach sehen Sie die Antwort eines Systems, die falsch sein kann. Bleiben Sie bei Ihrer Antwort "
        "oder ändern Sie sie."
    ),
    "Then you are asked again. Keep your answer or change it.": (
        "Danach werden Sie noch einmal gefragt. Bleiben Sie bei Ihrer Antwort oder ändern Sie sie."
    ),
    "Read the question and the articles, and say what a system will answer, even if you think that it is "
    "wrong. Please do not look anything up.": (
        "Lesen Sie die Frage und die Artikel und sagen Sie, was ein System antworten wird, auch wenn Sie das "
        "für falsch halten. Bitte schlagen Sie nichts nach."
    ),
    "In the second of three parts you see the answer of the system after each prediction. Learn from it for "
    "the third part.": (
        "Im zweiten von drei Teilen sehen Sie nach jeder Vorhersage die Antwort des Systems. Lernen Sie "
        "daraus für den dritten Teil."
    ),
    "Highlights then show how the system came to its answer.": (
        "Hervorhebungen zeigen dann, wie das System zu seiner Antwort kam."
    ),
    "You see a question and the answer of a system, which may be wrong.": (
        "Sie sehen eine Frage und die Antwort eines Systems, die falsch sein kann."
    ),
    "Highlights show how the system came to its answer.": (
        "Hervorhebungen zeigen, wie das System zu seiner Antwort kam."
    ),
    "Then the question, or the text that the system reads, is changed. Say what the system will answer now, "
    "even if you think that it is wrong. If you cannot tell, say so. Please do not look anything up.": (
        "Dann wird die Frage oder der Text geändert, den das System liest. Sagen Sie, was das System jetzt "
        "antworten wird, auch wenn Sie das für falsch halten. Wenn Sie es nicht sagen können, geben Sie das "
        "an. Bitte schlagen Sie nichts nach."
    ),
    "Read the question, then A and B. Each is the answer of a system with its explanation, and may be wrong. "
    "Say which of the two is better; decide by what you see. Please do not look anything up.": (
        "Lesen Sie die Frage, dann A und B. Jedes ist die Antwort eines Systems mit seiner Erklärung und "
        "kann falsch sein. Sagen Sie, welches von beiden besser ist; entscheiden Sie nach dem, was Sie "
        "sehen. Bitte schlagen Sie nichts nach."
    ),
    "Look at the pictures, read the sentence and the answer, and the steps if there are any: they may be "
    "wrong even if the answer is right. Then say whether you think that the answer is correct.": (
        "Sehen Sie sich die Bilder an und lesen Sie den Satz und die Antwort, dazu die Schritte, falls es "
        "welche gibt. Die Schritte können falsch sein, auch wenn die Antwort richtig ist. Sagen Sie dann, "
        "ob Sie die Antwort für richtig halten."
    ),
}
_FIELDS = ("title_for_participants", "consent", "instructions")


def translate_passages(draft: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return a draft whose passages of ours are English or German.

    Passages that somebody wrote or changed stay; so do all in a language without translations.
    """
    passages = {"de": GERMAN, "en": {german: english for english, german in GERMAN.items()}}.get(language, {})
    return {
        name: _replace_passages(value, passages) if name in _FIELDS else value
        for name, value in draft.items()
    }


def _replace_passages(text: Any, passages: Mapping[str, str]) -> Any:
    if isinstance(text, str):
        for passage, other in passages.items():
            text = text.replace(passage, other)
        return text
    if isinstance(text, list):
        return [_replace_passages(part, passages) for part in text]
    if isinstance(text, Mapping) and "text" in text:
        return {**text, "text": _replace_passages(text["text"], passages)}
    return text
