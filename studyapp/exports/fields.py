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
_DATE = " (public: the date only)"


def _page_fields(model: str, table: str) -> dict[str, Field]:
    times = {name: _out(table + _DATE) for name in ("shown_at", "submitted_at")}
    clocks = {
        name: _out(table)
        for name in (
            "client_total_ms",
            "client_visible_ms",
            "client_hidden_ms",
            "hidden_count",
            "first_interaction_ms",
        )
    }
    answers = {name: _out(f"{table}, a column per question") for name in ("answers", "changes")}
    return {f"{model}.{name}": field for name, field in {**times, **clocks, **answers}.items()}


# Every field of every model that stores a study. tests/studyapp/exports/test_codebook.py fails if one is
# missing here, so that nothing new is exported unnoticed.
FIELDS: dict[str, Field] = {
    "Study.id": _KEY,
    "Study.workspace": _stays("of the site, not of the data"),
    "Study.slug": _out("study_version.json"),
    "Study.title": _out("study_version.json"),
    "Study.status": _stays("of the site, not of the data"),
    "Study.draft_number": _stays("of the draft; what participants saw is StudyVersion.frozen"),
    "Study.archived_at": _stays("of the site, not of the data"),
    "Study.definition": _stays("the draft; what participants saw is StudyVersion.frozen"),
    "Study.pseudonym_key": _stays("secret that keys the public pseudonyms"),
    "Study.created_at": _stays("of the site, not of the data"),
    "Study.created_by": _stays("a member of staff"),
    **{
        f"DraftRevision.{name}": _stays("of the draft; what participants saw is StudyVersion.frozen")
        for name in ("id", "study", "number", "before", "content", "changed", "made_at", "made_by")
    },
    "StudyVersion.id": _KEY,
    "StudyVersion.study": _out("study_version.json"),
    "StudyVersion.number": _out("every table"),
    "StudyVersion.hash": _out("study_version.json"),
    "StudyVersion.frozen": _out("study_version.json, rules.json"),
    "StudyVersion.published": _out("study_version.json; its scores in scores.json"),
    "StudyVersion.frozen_at": _out("study_version.json" + _DATE),
    "StudyVersion.frozen_by": _stays("a member of staff"),
    "Condition.id": _KEY,
    "Condition.version": _out("items"),
    "Condition.position": _out("order of the conditions in study_version.json"),
    "Condition.name": _out("every table"),
    "Condition.label": _out("study_version.json"),
    "Condition.system": _out("items, study_version.json"),
    "Condition.run": _out("its revision in scores.json"),
    "Condition.weight": _out("study_version.json, in the definition"),
    "Condition.is_open": _stays("of the site, not of the data"),
    "Condition.gives_advice": _out("study_version.json, in the definition"),
    "Condition.quota": _stays("of the site, not of the data"),
    "Item.id": _KEY,
    "Item.kind": _out("items, checks"),
    "Item.version": _out("items"),
    "Item.position": _out("items"),
    "Item.external_id": _out("items, trials"),
    "Item.question": _stays("key of the database; external_id names the question"),
    "Item.text": _out("items"),
    "Item.gold_answer": _out("items"),
    "Item.context": _out("study_version.json, in the definition"),
    "Stimulus.id": _KEY,
    "Stimulus.condition": _out("items"),
    "Stimulus.item": _out("items"),
    "Stimulus.shown_answer": _out("items"),
    "Stimulus.facts": _out("items"),
    "Stimulus.exact_match": _out("items"),
    "Stimulus.answer_f1": _out("items"),
    "Stimulus.system_correct": _out("items, trials"),
    "Stimulus.judged_by": _out("items (public: our own words only, because imported ones may be names)"),
    "Stimulus.decision": _out("items, by settled_how"),
    "Study.rehearsal_of": _stays("rehearsals are in no bundle"),
    "LaunchDecision.id": _KEY,
    "LaunchDecision.study": _out("study_version.json"),
    "LaunchDecision.check_name": _out("study_version.json"),
    "LaunchDecision.reason": _out("study_version.json"),
    "LaunchDecision.facts": _stays("keys of the database"),
    "LaunchDecision.hash": _stays("of the draft; that of the version is in study_version.json"),
    "LaunchDecision.made_at": _out("study_version.json" + _DATE),
    "LaunchDecision.made_by": _out("study_version.json", "withheld"),
    "ProposedVerdict.id": _KEY,
    "ProposedVerdict.judged": _stays("a proposal decides nothing"),
    "ProposedVerdict.proposed_by": _stays("a proposal decides nothing"),
    "ProposedVerdict.is_correct": _stays("a proposal decides nothing"),
    "ProposedVerdict.imported_at": _stays("a proposal decides nothing"),
    "ProposedVerdict.imported_by": _stays("a member of staff"),
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
    "Judgement.judge": _out("judgements", "withheld"),
    "Judgement.is_correct": _out("judgements"),
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
    "EntryLink.single_use": _stays("of the site, not of the data"),
    "EntryLink.used_at": _stays("of the site, not of the data"),
    "EntryLink.quota": _stays("of the site, not of the data"),
    "EntryLink.recruitment": _stays("codes that prove completion"),
    "EntryLink.created_at": _stays("of the site, not of the data"),
    "EntryLink.created_by": _stays("a member of staff"),
    "Participant.id": _KEY,
    "Participant.version": _out("every table"),
    "Participant.link": _out("participants, by its label", "withheld"),
    "Participant.public_id": Field(
        "exported", "pseudonymised", "participant_id; the public variant has a keyed hash of it"
    ),
    "Participant.mode": _out("trials, participants and the other tables of participants"),
    "Participant.status": _out("participants"),
    "Participant.stage": _out("participants"),
    "Participant.outcome": _out("participants"),
    "Participant.language": _out("participants"),
    "Participant.device": _out("participants"),
    "Participant.group": _out("participants"),
    "Participant.condition": _out("participants, stages, pre_survey, post_survey"),
    "Participant.order_row": _out("participants"),
    "Participant.rotation": _out("participants"),
    "Participant.assignment_counts": _stays("what the assignment counted; kept for an audit"),
    "Participant.order_seed": _out("participants", "withheld"),
    "Participant.items_submitted": _out("participants"),
    "Participant.consented_at": _out("participants" + _DATE),
    "Participant.assigned_at": _out("participants" + _DATE),
    "Participant.started_at": _out("participants" + _DATE),
    "Participant.last_seen_at": _stays("of the site, not of the data"),
    "Participant.completed_at": _out("participants" + _DATE),
    "Participant.ended_at": _out("participants" + _DATE),
    "Participant.completion_code": _stays("proof of payment of one person"),
    "Participant.returned_at": _out("participants" + _DATE),
    "Participant.withdrawal_code": _stays("opens the withdrawal of one person"),
    "Participant.link_generation": _stays("of the site, not of the data"),
    "Participant.anonymised_on": _stays("of the site, not of the data"),
    **{
        f"Participant.{name}": _stays("follows from the pages of the participant")
        for name in (
            *("timed_items", "fast_items", "client_ms", "hidden_ms", "same_answers", "pattern", "rule_hits"),
            *("is_trapped", "failed_attention", "failed_comprehension"),
        )
    },
    **{
        f"ItemTime.{name}": _stays("follows from the times of trials")
        for name in ("id", "version", "mode", "group", "tenths", "number")
    },
    "Trial.hits_rule": _stays("follows from the rules, which are exported"),
    "Trial.id": _KEY,
    "Trial.participant": Field("exported", "pseudonymised", "trials"),
    "Trial.item": _out("trials, checks"),
    "Trial.condition": _out("trials, checks"),
    "Trial.passed": _out("checks"),
    "Trial.position": _out("trials, checks"),
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
    "StageResponse.stage": _out("stages"),
    "StageResponse.attempt": _out("stages"),
    "StageResponse.passed": _out("stages"),
    "StageResponse.page": _stays("follows from the answers"),
    "StageResponse.earlier": _out("stages, pre_survey, merged into the row of the part"),
    **_page_fields("StageResponse", "stages"),
    "SurveyResponse.id": _KEY,
    "SurveyResponse.participant": Field("exported", "pseudonymised", "post_survey"),
    "SurveyResponse.page": _stays("follows from the answers"),
    "SurveyResponse.earlier": _out("post_survey, merged into the row of the part"),
    **_page_fields("SurveyResponse", "post_survey"),
    "ExternalIds.id": _KEY,
    **{
        f"ExternalIds.{name}": _stays("leads to one person; the command external_ids lists them")
        for name in ("participant", "study", "mode", "platform", "person_id", "study_id_there", "session_id")
    },
    "Payment.id": _KEY,
    **{
        f"Payment.{name}": _stays("of paying people; the page of payments lists it")
        for name in (
            *("study", "participant", "kind", "batch", "state", "transfer"),
            *("seen_before", "note", "created_at", "created_by", "sent_at"),
        )
    },
    "Payment.amount": _out("participants, as paid"),
    "Payment.currency": _out("participants, as paid_currency"),
    "ManualExclusion.id": _KEY,
    "ManualExclusion.participant": Field("exported", "pseudonymised", "participants, rules.json"),
    "ManualExclusion.reason": _out("participants, as excluded_reason", "withheld"),
    "ManualExclusion.excluded_at": _stays("in events, with the act"),
    "ManualExclusion.excluded_by": _stays("a member of staff"),
    **{
        f"Report.{name}": _stays("of the report, which has a file of its own")
        for name in (
            "id",
            "study",
            "job",
            "version",
            "mode",
            "seed",
            "resamples",
            "data",
            "summary",
            "made_at",
        )
    },
    "Event.id": _KEY,
    "Event.study": _stays("the bundle is of one study"),
    "Event.participant": Field("exported", "pseudonymised", "events"),
    "Event.actor": _stays("a member of staff"),
    "Event.kind": _out("events"),
    "Event.at": _out("events" + _DATE),
    "Event.data": _out("events", "withheld"),
}
