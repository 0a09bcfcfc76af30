"""Labels of what imports repair or leave out."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

LABELS: dict[str, Promise] = {
    "malformed_facts": _("facts that are not [title, index]; they score as in the official script"),
    "rejected_changes": _("changed items that people rejected, or that hardly change the meaning, left out"),
    "repeated_titles": _("questions with paragraphs of one title, which got a number"),
    "several_answers": _("questions with an answer of several parts, left out"),
    "several_evidence_sets": _("claims with several sets of evidence; the first counts as gold"),
    "stray_facts": _("gold facts that name no sentence of their articles; kept, as the official scores do"),
    "stray_predicted_facts": _("predicted facts that name no sentence of the articles; kept as wrong facts"),
    "unanswered": _("questions without an answer, left out"),
    "unknown_ids": _("IDs without a question in the dataset, left out"),
    "without_answer": _("predictions without an answer, stored with an empty one"),
    "without_fact_list": _("predictions without a list of facts, stored without facts"),
    "without_evidence": _("claims without evidence, which name no article, left out"),
    "without_facts": _("questions with unknown gold facts; scores of facts are left out"),
    "without_prediction": _("questions of the dataset without a prediction; they score 0"),
}


def label_of(kind: str) -> str:
    """Return the label of a kind; an unknown kind is its own label."""
    return str(LABELS.get(kind, kind))
