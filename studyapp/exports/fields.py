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


def _out(note: str, public: Disposition = "exported") -> Field:
    return Field("exported", public, note)


def _stays(note: str) -> Field:
    return Field("withheld", "withheld", note)


_KEY = _stays("key of the database; means nothing outside it")
_OF_SITE = _stays("of the site, not of the data")
_OF_DRAFT = _stays("of the draft; what participants saw is StudyVersion.frozen")
_STAFF = _stays("a member of staff")
_DATE = " (public: the date only)"


def _each(model: str, names: str, field: Field) -> dict[str, Field]:
    return {f"{model}.{name}": field for name in names.split()}


def _page_fields(model: str, table: str) -> dict[str, Field]:
    clocks = "client_total_ms client_visible_ms client_hidden_ms hidden_count first_interaction_ms"
    return {
        **_each(model, "shown_at submitted_at", _out(table + _DATE)),
        **_each(model, clocks, _out(table)),
        **_each(model, "answers changes", _out(f"{table}, a column per question")),
    }


# Every field of every model that stores a study. tests/studyapp/exports/test_codebook.py fails if one is
# missing here, so that nothing new is exported unnoticed.
FIELDS: dict[str, Field] = {
    "Study.id": _KEY,
    **_each("Study", "workspace status archived_at created_at", _OF_SITE),
    "Study.slug": _out("study_version.json"),
    "Study.title": _out("study_version.json"),
    "Study.draft_number": _OF_DRAFT,
    "Study.definition": _stays("the draft; what participants saw is StudyVersion.frozen"),
    "Study.pseudonym_key": _stays("secret that keys the public pseudonyms"),
    "Study.created_by": _STAFF,
    **_each("DraftRevision", "id study number before content changed made_at made_by", _OF_DRAFT),
    "StudyVersion.id": _KEY,
    "StudyVersion.study": _out("study_version.json"),
    "StudyVersion.hash": _out("study_version.json"),
    "StudyVersion.number": _out("every table"),
    "StudyVersion.frozen": _out("study_version.json, rules.json"),
    "StudyVersion.published": _out("study_version.json; its scores in scores.json"),
    "StudyVersion.frozen_at": _out("study_version.json" + _DATE),
    "StudyVersion.frozen_by": _STAFF,
    "Condition.id": _KEY,
    "Condition.version": _out("items"),
    "Condition.position": _out("order of the conditions in study_version.json"),
    "Condition.name": _out("every table"),
    "Condition.label": _out("study_version.json"),
    "Condition.system": _out("items, study_version.json"),
    "Condition.run": _out("its revision in scores.json"),
    "Condition.weight": _out("study_version.json, in the definition"),
    "Condition.gives_advice": _out("study_version.json, in the definition"),
    "Condition.is_open": _OF_SITE,
    "Condition.quota": _OF_SITE,
    "Item.id": _KEY,
    "Item.kind": _out("items, checks"),
    **_each("Item", "version position text gold_answer", _out("items")),
    "Item.external_id": _out("items, trials"),
    "Item.question": _stays("key of the database; external_id names the question"),
    "Item.context": _out("study_version.json, in the definition"),
    "Stimulus.id": _KEY,
    **_each("Stimulus", "condition item shown_answer facts exact_match answer_f1", _out("items")),
    "Stimulus.system_correct": _out("items, trials"),
    "Stimulus.judged_by": _out("items (public: our own words only, because imported ones may be names)"),
    "Stimulus.decision": _out("items, by settled_how"),
    "Study.rehearsal_of": _stays("rehearsals are in no bundle"),
    "LaunchDecision.id": _KEY,
    **_each("LaunchDecision", "study check_name reason", _out("study_version.json")),
    "LaunchDecision.facts": _stays("keys of the database"),
    "LaunchDecision.hash": _stays("of the draft; that of the version is in study_version.json"),
    "LaunchDecision.made_at": _out("study_version.json" + _DATE),
    "LaunchDecision.made_by": _out("study_version.json", "withheld"),
    "ProposedVerdict.id": _KEY,
    **_each(
        "ProposedVerdict", "judged proposed_by is_correct imported_at", _stays("a proposal decides nothing")
    ),
    "ProposedVerdict.imported_by": _STAFF,
    "JudgedAnswer.id": _KEY,
    "JudgedAnswer.question": _out("items, by its item_id"),
    "JudgedAnswer.answer": _out("items, as shown_answer"),
    "JudgedAnswer.digest": _stays("computed from the answer"),
    "JudgedAnswer.from_people": _stays("follows from the answers in trials"),
    "JudgedAnswer.is_correct": _out("items, as system_correct; trials, as initial_correct, final_correct"),
    "JudgedAnswer.settled_how": _out("items"),
    "JudgedAnswer.settled_at": _out("items" + _DATE),
    "JudgedAnswer.settled_by": _out("items", "withheld"),
    "JudgedAnswer.note": _out("items, as settled_note", "withheld"),
    "Judgement.id": _KEY,
    "Judgement.judged": _out("judgements, by item and condition"),
    "Judgement.place": _out("judgements"),
    "Judgement.is_correct": _out("judgements"),
    "Judgement.judge": _out("judgements", "withheld"),
    "Judgement.note": _out("judgements", "withheld"),
    "Judgement.at": _out("judgements" + _DATE),
    "QuestionScore.id": _KEY,
    "QuestionScore.score": _out("question_scores, by its system"),
    "QuestionScore.question": _out("question_scores"),
    "QuestionScore.parts": _out("question_scores, a column per part"),
    "EntryLink.id": _KEY,
    "EntryLink.study": _stays("the bundle is of one study"),
    "EntryLink.token_hash": _stays("opens the study"),
    "EntryLink.label": _out("participants", "withheld"),
    "EntryLink.mode": _stays("copied to the participant at consent"),
    "EntryLink.behaviour": _out("participants"),
    **_each("EntryLink", "single_use used_at quota created_at", _OF_SITE),
    "EntryLink.recruitment": _stays("codes that prove completion"),
    "EntryLink.created_by": _STAFF,
    "Participant.id": _KEY,
    "Participant.version": _out("every table"),
    "Participant.link": _out("participants, by its label", "withheld"),
    "Participant.public_id": Field(
        "exported", "pseudonymised", "participant_id; the public variant has a keyed hash of it"
    ),
    "Participant.mode": _out("trials, participants and the other tables of participants"),
    **_each(
        "Participant",
        "status stage outcome language device group order_row rotation items_submitted",
        _out("participants"),
    ),
    "Participant.condition": _out("participants, stages, pre_survey, post_survey"),
    "Participant.assignment_counts": _stays("what the assignment counted; kept for an audit"),
    "Participant.order_seed": _out("participants", "withheld"),
    **_each(
        "Participant",
        "consented_at assigned_at started_at completed_at ended_at returned_at",
        _out("participants" + _DATE),
    ),
    **_each("Participant", "last_seen_at link_generation anonymised_on", _OF_SITE),
    "Participant.completion_code": _stays("proof of payment of one person"),
    "Participant.withdrawal_code": _stays("opens the withdrawal of one person"),
    **_each(
        "Participant",
        "timed_items fast_items client_ms hidden_ms same_answers pattern rule_hits is_trapped "
        "failed_attention failed_comprehension",
        _stays("follows from the pages of the participant"),
    ),
    **_each("ItemTime", "id version mode group tenths number", _stays("follows from the times of trials")),
    "Trial.hits_rule": _stays("follows from the rules, which are exported"),
    "Trial.id": _KEY,
    "Trial.participant": Field("exported", "pseudonymised", "trials"),
    **_each("Trial", "item condition position", _out("trials, checks")),
    "Trial.passed": _out("checks"),
    "Trial.block": _out("trials, of a simulation"),
    "Trial.other_condition": _out("trials, as right_condition"),
    "Trial.page": _stays("follows from the answers"),
    "Trial.earlier": _out("trials, by the answers and clocks of each page"),
    "Trial.page_shown_at": _out("trials, by the clocks of each page"),
    "Trial.timed_out": _out("trials"),
    "Trial.articles": _out("trials, by articles_opened, articles_open_ms and articles_log"),
    **_page_fields("Trial", "trials"),
    "StageResponse.id": _KEY,
    "StageResponse.participant": Field("exported", "pseudonymised", "stages, pre_survey"),
    **_each("StageResponse", "stage attempt passed", _out("stages")),
    "StageResponse.page": _stays("follows from the answers"),
    "StageResponse.earlier": _out("stages, pre_survey, merged into the row of the part"),
    **_page_fields("StageResponse", "stages"),
    "SurveyResponse.id": _KEY,
    "SurveyResponse.participant": Field("exported", "pseudonymised", "post_survey"),
    "SurveyResponse.page": _stays("follows from the answers"),
    "SurveyResponse.earlier": _out("post_survey, merged into the row of the part"),
    **_page_fields("SurveyResponse", "post_survey"),
    "ExternalIds.id": _KEY,
    **_each(
        "ExternalIds",
        "participant study mode platform person_id study_id_there session_id",
        _stays("leads to one person; the command external_ids lists them"),
    ),
    "Payment.id": _KEY,
    **_each(
        "Payment",
        "study participant kind batch state transfer seen_before note created_at created_by sent_at",
        _stays("of paying people; the page of payments lists it"),
    ),
    "Payment.amount": _out("participants, as paid"),
    "Payment.currency": _out("participants, as paid_currency"),
    "ManualExclusion.id": _KEY,
    "ManualExclusion.participant": Field("exported", "pseudonymised", "participants, rules.json"),
    "ManualExclusion.reason": _out("participants, as excluded_reason", "withheld"),
    "ManualExclusion.excluded_at": _stays("in events, with the act"),
    "ManualExclusion.excluded_by": _STAFF,
    **_each(
        "Report",
        "id study job version mode seed resamples data summary made_at",
        _stays("of the report, which has a file of its own"),
    ),
    "Event.id": _KEY,
    "Event.study": _stays("the bundle is of one study"),
    "Event.participant": Field("exported", "pseudonymised", "events"),
    "Event.actor": _STAFF,
    "Event.kind": _out("events"),
    "Event.at": _out("events" + _DATE),
    "Event.data": _out("events", "withheld"),
}
