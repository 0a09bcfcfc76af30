"""Every field of every model of a study, and whether it is exported.

Pure: no Django.
"""

from typing import Literal, NamedTuple

Disposition = Literal["exported", "pseudonymised", "withheld"]


class Field(NamedTuple):
    """Disposition of a model field in both variants, with target or reason."""

    internal: Disposition
    public: Disposition
    note: str


def _export_field(note: str, public: Disposition = "exported") -> Field:
    return Field("exported", public, note)


def _withhold_field(note: str) -> Field:
    return Field("withheld", "withheld", note)


_KEY = _withhold_field("key of the database; means nothing outside it")
_OF_SITE = _withhold_field("of the site, not of the data")
_OF_DRAFT = _withhold_field("of the draft; what participants saw is StudyVersion.frozen")
_STAFF = _withhold_field("a member of staff")
_DATE = " (public: the date only)"


def _repeat_field(model: str, names: str, field: Field) -> dict[str, Field]:
    return {f"{model}.{name}": field for name in names.split()}


def _export_page_fields(model: str, table: str) -> dict[str, Field]:
    clocks = "client_total_ms client_visible_ms client_hidden_ms hidden_count first_interaction_ms"
    return {
        **_repeat_field(model, "shown_at submitted_at", _export_field(table + _DATE)),
        **_repeat_field(model, clocks, _export_field(table)),
        **_repeat_field(model, "answers changes", _export_field(f"{table}, a column per question")),
    }


# Every field of every model that stores a study. tests/studyapp/exports/test_codebook.py fails if one is
# missing here, so that nothing new is exported unnoticed.
FIELDS: dict[str, Field] = {
    "Study.id": _KEY,
    **_repeat_field("Study", "workspace status archived_at created_at", _OF_SITE),
    "Study.slug": _export_field("study_version.json"),
    "Study.title": _export_field("study_version.json"),
    "Study.draft_number": _OF_DRAFT,
    "Study.definition": _withhold_field("the draft; what participants saw is StudyVersion.frozen"),
    "Study.pseudonym_key": _withhold_field("secret that keys the public pseudonyms"),
    "Study.created_by": _STAFF,
    **_repeat_field("DraftRevision", "id study number before content changed made_at made_by", _OF_DRAFT),
    "StudyVersion.id": _KEY,
    "StudyVersion.study": _export_field("study_version.json"),
    "StudyVersion.hash": _export_field("study_version.json"),
    "StudyVersion.number": _export_field("every table"),
    "StudyVersion.frozen": _export_field("study_version.json, rules.json"),
    "StudyVersion.published": _export_field("study_version.json; its scores in scores.json"),
    "StudyVersion.frozen_at": _export_field("study_version.json" + _DATE),
    "StudyVersion.frozen_by": _STAFF,
    "Condition.id": _KEY,
    "Condition.version": _export_field("items"),
    "Condition.position": _export_field("order of the conditions in study_version.json"),
    "Condition.name": _export_field("every table"),
    "Condition.label": _export_field("study_version.json"),
    "Condition.system": _export_field("items, study_version.json"),
    "Condition.run": _export_field("its revision in scores.json"),
    "Condition.weight": _export_field("study_version.json, in the definition"),
    "Condition.gives_advice": _export_field("study_version.json, in the definition"),
    "Condition.is_open": _OF_SITE,
    "Condition.quota": _OF_SITE,
    "Item.id": _KEY,
    "Item.kind": _export_field("items, checks"),
    **_repeat_field("Item", "version position text gold_answer", _export_field("items")),
    "Item.external_id": _export_field("items, trials"),
    "Item.question": _withhold_field("key of the database; external_id names the question"),
    "Item.context": _export_field("study_version.json, in the definition"),
    "Stimulus.id": _KEY,
    **_repeat_field(
        "Stimulus", "condition item shown_answer facts exact_match answer_f1", _export_field("items")
    ),
    "Stimulus.system_correct": _export_field("items, trials"),
    "Stimulus.judged_by": _export_field(
        "items (public: our own words only, because imported ones may be names)"
    ),
    "Stimulus.decision": _export_field("items, by settled_how"),
    "Study.rehearsal_of": _withhold_field("rehearsals are in no bundle"),
    "LaunchDecision.id": _KEY,
    **_repeat_field("LaunchDecision", "study check_name reason", _export_field("study_version.json")),
    "LaunchDecision.facts": _withhold_field("keys of the database"),
    "LaunchDecision.hash": _withhold_field("of the draft; that of the version is in study_version.json"),
    "LaunchDecision.made_at": _export_field("study_version.json" + _DATE),
    "LaunchDecision.made_by": _export_field("study_version.json", "withheld"),
    "ProposedVerdict.id": _KEY,
    **_repeat_field(
        "ProposedVerdict",
        "judged proposed_by is_correct imported_at",
        _withhold_field("a proposal decides nothing"),
    ),
    "ProposedVerdict.imported_by": _STAFF,
    "JudgedAnswer.id": _KEY,
    "JudgedAnswer.question": _export_field("items, by its item_id"),
    "JudgedAnswer.answer": _export_field("items, as shown_answer"),
    "JudgedAnswer.digest": _withhold_field("computed from the answer"),
    "JudgedAnswer.from_people": _withhold_field("follows from the answers in trials"),
    "JudgedAnswer.is_correct": _export_field(
        "items, as system_correct; trials, as initial_correct, final_correct"
    ),
    "JudgedAnswer.settled_how": _export_field("items"),
    "JudgedAnswer.settled_at": _export_field("items" + _DATE),
    "JudgedAnswer.settled_by": _export_field("items", "withheld"),
    "JudgedAnswer.note": _export_field("items, as settled_note", "withheld"),
    "Judgement.id": _KEY,
    "Judgement.judged": _export_field("judgements, by item and condition"),
    "Judgement.place": _export_field("judgements"),
    "Judgement.is_correct": _export_field("judgements"),
    "Judgement.judge": _export_field("judgements", "withheld"),
    "Judgement.note": _export_field("judgements", "withheld"),
    "Judgement.at": _export_field("judgements" + _DATE),
    "QuestionScore.id": _KEY,
    "QuestionScore.score": _export_field("question_scores, by its system"),
    "QuestionScore.question": _export_field("question_scores"),
    "QuestionScore.parts": _export_field("question_scores, a column per part"),
    "EntryLink.id": _KEY,
    "EntryLink.study": _withhold_field("the bundle is of one study"),
    "EntryLink.token_hash": _withhold_field("opens the study"),
    "EntryLink.label": _export_field("participants", "withheld"),
    "EntryLink.mode": _withhold_field("copied to the participant at consent"),
    "EntryLink.behaviour": _export_field("participants"),
    **_repeat_field("EntryLink", "single_use used_at quota created_at", _OF_SITE),
    "EntryLink.recruitment": _withhold_field("codes that prove completion"),
    "EntryLink.created_by": _STAFF,
    "Participant.id": _KEY,
    "Participant.version": _export_field("every table"),
    "Participant.link": _export_field("participants, by its label", "withheld"),
    "Participant.public_id": Field(
        "exported", "pseudonymised", "participant_id; the public variant has a keyed hash of it"
    ),
    "Participant.mode": _export_field("trials, participants and the other tables of participants"),
    **_repeat_field(
        "Participant",
        "status stage outcome language device group order_row rotation items_submitted",
        _export_field("participants"),
    ),
    "Participant.condition": _export_field("participants, stages, pre_survey, post_survey"),
    "Participant.assignment_counts": _withhold_field("what the assignment counted; kept for an audit"),
    "Participant.order_seed": _export_field("participants", "withheld"),
    **_repeat_field(
        "Participant",
        "consented_at assigned_at started_at completed_at ended_at returned_at",
        _export_field("participants" + _DATE),
    ),
    **_repeat_field("Participant", "last_seen_at link_generation anonymised_on", _OF_SITE),
    "Participant.completion_code": _withhold_field("proof of payment of one person"),
    "Participant.withdrawal_code": _withhold_field("opens the withdrawal of one person"),
    **_repeat_field(
        "Participant",
        "timed_items fast_items client_ms hidden_ms same_answers pattern rule_hits is_trapped "
        "failed_attention failed_comprehension",
        _withhold_field("follows from the pages of the participant"),
    ),
    **_repeat_field(
        "ItemTime", "id version mode group tenths number", _withhold_field("follows from the times of trials")
    ),
    "Trial.hits_rule": _withhold_field("follows from the rules, which are exported"),
    "Trial.id": _KEY,
    "Trial.participant": Field("exported", "pseudonymised", "trials"),
    **_repeat_field("Trial", "item condition position", _export_field("trials, checks")),
    "Trial.passed": _export_field("checks"),
    "Trial.block": _export_field("trials, of a simulation"),
    "Trial.other_condition": _export_field("trials, as right_condition"),
    "Trial.page": _withhold_field("follows from the answers"),
    "Trial.earlier": _export_field("trials, by the answers and clocks of each page"),
    "Trial.page_shown_at": _export_field("trials, by the clocks of each page"),
    "Trial.timed_out": _export_field("trials"),
    "Trial.articles": _export_field("trials, by articles_opened, articles_open_ms and articles_log"),
    **_export_page_fields("Trial", "trials"),
    "StageResponse.id": _KEY,
    "StageResponse.participant": Field("exported", "pseudonymised", "stages, pre_survey"),
    **_repeat_field("StageResponse", "stage attempt passed", _export_field("stages")),
    "StageResponse.page": _withhold_field("follows from the answers"),
    "StageResponse.earlier": _export_field("stages, pre_survey, merged into the row of the part"),
    **_export_page_fields("StageResponse", "stages"),
    "SurveyResponse.id": _KEY,
    "SurveyResponse.participant": Field("exported", "pseudonymised", "post_survey"),
    "SurveyResponse.page": _withhold_field("follows from the answers"),
    "SurveyResponse.earlier": _export_field("post_survey, merged into the row of the part"),
    **_export_page_fields("SurveyResponse", "post_survey"),
    "ExternalIds.id": _KEY,
    **_repeat_field(
        "ExternalIds",
        "participant study mode platform person_id study_id_there session_id",
        _withhold_field("leads to one person; the command external_ids lists them"),
    ),
    "Payment.id": _KEY,
    **_repeat_field(
        "Payment",
        "study participant kind batch state transfer seen_before note created_at created_by sent_at",
        _withhold_field("of paying people; the page of payments lists it"),
    ),
    "Payment.amount": _export_field("participants, as paid"),
    "Payment.currency": _export_field("participants, as paid_currency"),
    "ManualExclusion.id": _KEY,
    "ManualExclusion.participant": Field("exported", "pseudonymised", "participants, rules.json"),
    "ManualExclusion.reason": _export_field("participants, as excluded_reason", "withheld"),
    "ManualExclusion.excluded_at": _withhold_field("in events, with the act"),
    "ManualExclusion.excluded_by": _STAFF,
    **_repeat_field(
        "Report",
        "id study job version mode seed resamples data summary made_at",
        _withhold_field("of the report, which has a file of its own"),
    ),
    "Event.id": _KEY,
    "Event.study": _withhold_field("the bundle is of one study"),
    "Event.participant": Field("exported", "pseudonymised", "events"),
    "Event.actor": _STAFF,
    "Event.kind": _export_field("events"),
    "Event.at": _export_field("events" + _DATE),
    "Event.data": _export_field("events", "withheld"),
}
