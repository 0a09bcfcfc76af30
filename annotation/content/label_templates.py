"""Label configurations to begin with, by the names of tasks in the forms."""

from typing import Any

TEMPLATES: dict[str, list[dict[str, Any]]] = {
    "ner": [{"type": "spans", "name": "Entities", "labels": ["Person", "Organisation", "Place", "Date"]}],
    "aspects": [
        {"type": "spans", "name": "Aspects", "labels": ["Product", "Service", "Price"],
         "hint": "Mark what the text gives an opinion on.",
         "questions": [{"type": "choice", "name": "Opinion", "labels": ["good", "mixed", "bad"]}]},
    ],
    "classification": [{"type": "choice", "name": "Class", "labels": ["Positive", "Neutral", "Negative"]}],
    "rationale": [
        {"type": "choice", "name": "Class", "labels": ["Positive", "Negative"]},
        {"type": "spans", "name": "Rationale", "labels": ["Supports the class"],
         "hint": "Mark the words that decide the class."},
    ],
    "boxes": [{"type": "boxes", "name": "Objects", "labels": ["Person", "Animal", "Vehicle"]}],
    "outlines": [
        {"type": "polygons", "name": "Outlines", "labels": ["Person", "Animal", "Vehicle"]},
        {"type": "points", "name": "Key points", "labels": ["Head", "Left hand", "Right hand"],
         "required": False},
    ],
    "evidence": [
        {"type": "spans", "name": "Evidence", "labels": ["Supports", "Refutes"],
         "hint": "Mark the sentences that decide the claim."},
        {"type": "choice", "name": "Verdict", "labels": ["Supported", "Refuted", "Not enough information"]},
    ],
    "relations": [
        {"type": "spans", "name": "Entities", "labels": ["Person", "Organisation", "Place"]},
        {"type": "relations", "name": "Relations", "labels": ["works for", "lives in", "located in"],
         "hint": "Relate each entity to those that the text connects it with."},
    ],
    "counterfactual": [
        {"type": "choice", "name": "Answer after the change", "labels": ["Same", "Different", "Unclear"],
         "hint": "Compare the changed text with the original."},
        {"type": "choice", "name": "Language", "labels": ["Correct", "Small mistakes", "Wrong"]},
        {"type": "text", "name": "Better text", "required": False,
         "show_if": {"layer": "Language", "labels": ["Small mistakes", "Wrong"]}},
        {"type": "rating", "name": "Plausibility", "hint": "5: it could be true; 1: it could never be."},
    ],
    "preference": [
        {"type": "choice", "name": "Preference", "labels": ["A", "B", "Both alike"]},
        {"type": "choices", "name": "Reasons", "labels": ["Correct", "Complete", "Clear", "Well supported"],
         "required": False, "hint": "Strengths of the better one.",
         "show_if": {"layer": "Preference", "labels": ["A", "B"]}},
        {"type": "text", "name": "Comment", "required": False},
    ],
}  # fmt: skip
