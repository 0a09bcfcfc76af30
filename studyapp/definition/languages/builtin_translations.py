"""Translations of our templates and scales, by language and original.

These are the project's own translations, not validated versions of the scales.
"""

_TLX = {"Very low": "Sehr gering", "Very high": "Sehr hoch", "Perfect": "Perfekt", "Failure": "Misserfolg"}
_EXTENT = {"Not at all": "Überhaupt nicht", "Extremely": "Äußerst"}
_AGREEMENT_ENDS = {
    "Strongly disagree": "Stimme überhaupt nicht zu",
    "Strongly agree": "Stimme voll und ganz zu",
}


def _translate_ends(points: int, low: str, high: str) -> dict[str, str]:
    """Return the end labels of a scale, as `LikertScale` makes them."""
    words = {**_TLX, **_EXTENT, **_AGREEMENT_ENDS}
    return {f"1 – {low}": f"1 – {words[low]}", f"{points} – {high}": f"{points} – {words[high]}"}


WORDINGS: dict[str, dict[str, str]] = {
    "de": {
        **_AGREEMENT_ENDS,
        "Disagree": "Stimme nicht zu",
        "Neither agree nor disagree": "Weder noch",
        "Agree": "Stimme zu",
        **_translate_ends(5, "Strongly disagree", "Strongly agree"),
        **_translate_ends(7, "Strongly disagree", "Strongly agree"),
        **_translate_ends(7, "Not at all", "Extremely"),
        **_translate_ends(21, "Very low", "Very high"),
        **_translate_ends(21, "Perfect", "Failure"),
        "Do you think the system's answer is correct?": "Halten Sie die Antwort des Systems für richtig?",
        "Did you know the answer without the system's answer or explanations?": (
            "Wussten Sie die Antwort schon ohne die Antwort und die Erklärungen des Systems?"
        ),
        "I am confident that my choice is correct.": "Ich bin sicher, dass meine Wahl richtig ist.",
        "I am confident that my prediction is right.": "Ich bin sicher, dass meine Vorhersage richtig ist.",
        "The explanation helps me to predict what the system answers.": (
            "Die Erklärung hilft mir vorherzusagen, was das System antwortet."
        ),
        "Which explanation is better?": "Welche Erklärung ist besser?",
        "Which answer is better?": "Welche Antwort ist besser?",
        "The given explanation helps me to decide if the answer is correct.": (
            "Die Erklärung hilft mir zu entscheiden, ob die Antwort richtig ist."
        ),
        "The steps of the system help me to decide if the answer is correct.": (
            "Die Schritte des Systems helfen mir zu entscheiden, ob die Antwort richtig ist."
        ),
        "I trust the system.": "Ich vertraue dem System.",
        "The steps showed relevant things.": "Die Schritte zeigten Relevantes.",
        "The steps also showed irrelevant things.": "Die Schritte zeigten auch Irrelevantes.",
        "I am satisfied with the system.": "Ich bin mit dem System zufrieden.",
        "I am satisfied with the system and its steps.": (
            "Ich bin mit dem System und seinen Schritten zufrieden."
        ),
        "I trust the question answering system.": "Ich vertraue dem Frage-Antwort-System.",
        "The explanations contained relevant information.": (
            "Die Erklärungen enthielten relevante Informationen."
        ),
        "The explanations also contained irrelevant information.": (
            "Die Erklärungen enthielten auch irrelevante Informationen."
        ),
        "I am satisfied with the question answering system.": (
            "Ich bin mit dem Frage-Antwort-System zufrieden."
        ),
        "I am satisfied with the question answering system and its explanations.": (
            "Ich bin mit dem Frage-Antwort-System und seinen Erklärungen zufrieden."
        ),
        "How mentally demanding was the task?": "Wie geistig anstrengend war die Aufgabe?",
        "How physically demanding was the task?": "Wie körperlich anstrengend war die Aufgabe?",
        "How hurried or rushed was the pace of the task?": (
            "Wie hastig oder gehetzt war das Tempo der Aufgabe?"
        ),
        "How successful were you in accomplishing what you were asked to do?": (
            "Wie erfolgreich haben Sie die Aufgabe bewältigt?"
        ),
        "How hard did you have to work to accomplish your level of performance?": (
            "Wie sehr mussten Sie sich für Ihre Leistung anstrengen?"
        ),
        "How insecure, discouraged, irritated, stressed, and annoyed were you?": (
            "Wie unsicher, entmutigt, gereizt, gestresst und verärgert waren Sie?"
        ),
        "This system's capabilities meet my requirements.": (
            "Die Funktionen dieses Systems entsprechen meinen Anforderungen."
        ),
        "This system is easy to use.": "Dieses System ist leicht zu benutzen.",
        "How old are you?": "Wie alt sind Sie?",
        "years": "Jahre",
        "What is your gender?": "Welches Geschlecht haben Sie?",
        "Woman": "Frau",
        "Man": "Mann",
        "Non-binary": "Nichtbinär",
        "Another gender": "Ein anderes",
        "I prefer not to say": "Das möchte ich nicht sagen",
        "How well do you read English?": "Wie gut lesen Sie Englisch?",
        "It is my first language": "Es ist meine Muttersprache",
        "Fluently": "Fließend",
        "Well": "Gut",
        "A little": "Ein wenig",
        "What is the highest level of education that you completed?": (
            "Welchen höchsten Bildungsabschluss haben Sie?"
        ),
        "Less than secondary school": "Weniger als einen Schulabschluss",
        "Secondary school": "Schulabschluss",
        "Vocational training": "Berufsausbildung",
        "Bachelor's degree": "Bachelor",
        "Master's degree": "Master",
        "Doctorate": "Promotion",
        "Another qualification": "Ein anderer Abschluss",
    }
}
