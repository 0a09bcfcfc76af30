"""The reviewed table of addresses: the act that each one asks for.

An address that is missing here fails `tests/access/test_matrix.py`. Read each line as "who may do this act on
the object may open this address"; `accounts.policy` says who may do what.
"""

from dataclasses import dataclass

from accounts.policy import Act


@dataclass(frozen=True)
class Asks:
    """The act that an address asks for.

    Attributes:
        act: The act on the object that the address names; None for an address without a rule by role.
        unsafe: The act of requests that change something, where it is another one.
        anywhere: The address names no object: the act has to be allowed in some workspace.
        hides: A role that does not allow the act gives 404, as if the object were not there.
        public: Everybody may open it: pages of participants, of login and of help.
    """

    act: Act | None = None
    unsafe: Act | None = None
    anywhere: bool = False
    hides: bool = False
    public: bool = False

    def of(self, method: str) -> Act | None:
        """Return the act that a method asks for."""
        return self.act if method in ("GET", "HEAD") or self.unsafe is None else self.unsafe


PUBLIC = Asks(public=True)
LOGIN = Asks()  # everybody with an account; shows only what is their own
SEE, EDIT, RESULTS = Asks(Act.STUDY_SEE), Asks(Act.STUDY_EDIT), Asks(Act.STUDY_RESULTS)
PERSONAL, JUDGE = Asks(Act.STUDY_PERSONAL), Asks(Act.JUDGE)
PROJECT, MANAGE, SETTLE = Asks(Act.PROJECT_SEE), Asks(Act.ANNOTATION_MANAGE), Asks(Act.ANNOTATION_SETTLE)
ANNOTATE = Asks(Act.ANNOTATE)
# Somebody else's annotation: reviewers see it, and nobody but its author changes it.
OTHERS = Asks(Act.ANNOTATION_SETTLE, hides=True)

ROUTES: dict[str, Asks] = {
    # Participants, help and login
    **dict.fromkeys(
        (
            "accounts:login",
            "accounts:logout",
            "words",
            *(
                f"studyapp:{name}"
                for name in (
                    "home",
                    "join",
                    "resume",
                    "study",
                    "consent",
                    "declined",
                    "stage",
                    "item",
                    "item_image",
                    "survey",
                    "done",
                    "withdraw",
                    "prolific_webhook",
                )
            ),
        ),
        PUBLIC,
    ),
    "start": LOGIN,
    "schema": LOGIN,
    # Studies
    "studyapp:staff_home": LOGIN,
    "studyapp:staff_archive": LOGIN,
    "studyapp:staff_study": SEE,
    "studyapp:staff_progress": SEE,
    "studyapp:staff_make_link": EDIT,
    "studyapp:staff_launch": EDIT,
    "studyapp:staff_pause": EDIT,
    "studyapp:staff_resume": EDIT,
    "studyapp:staff_close": EDIT,
    "studyapp:staff_reopen": EDIT,
    "studyapp:staff_sizes": Asks(Act.STUDY_EDIT, anywhere=True),
    "studyapp:staff_size": EDIT,
    "studyapp:staff_size_progress": EDIT,
    "studyapp:staff_preview": EDIT,
    "studyapp:staff_running": EDIT,
    "studyapp:staff_set_condition": EDIT,
    "studyapp:staff_write_note": EDIT,
    "studyapp:staff_estimates": RESULTS,
    "studyapp:staff_log": RESULTS,
    "studyapp:staff_archive_study": EDIT,
    "studyapp:staff_restore_study": EDIT,
    "studyapp:staff_duplicate": EDIT,
    "studyapp:staff_compare": SEE,
    "studyapp:staff_privacy": PERSONAL,
    "studyapp:api_studies": LOGIN,
    "studyapp:api_progress": SEE,
    # Judged answers
    "studyapp:correctness": Asks(Act.JUDGE, anywhere=True),
    "studyapp:correctness_run": JUDGE,
    "studyapp:correctness_queue_run": JUDGE,
    "studyapp:correctness_judge": JUDGE,
    "studyapp:correctness_store": JUDGE,
    "studyapp:correctness_settle": JUDGE,
    "studyapp:correctness_study": JUDGE,
    "studyapp:correctness_queue_study": JUDGE,
    "studyapp:correctness_apply": JUDGE,
    # The studio
    "studyapp:studio": Asks(Act.STUDY_EDIT, anywhere=True),
    "studyapp:studio_start": Asks(Act.STUDY_EDIT, anywhere=True),
    "studyapp:studio_start_from_file": Asks(Act.STUDY_EDIT, anywhere=True),
    **dict.fromkeys(
        (
            f"studyapp:studio_{name}"
            for name in (
                "review",
                "undo",
                "redo",
                "go_to",
                "export",
                "replace",
                "launch",
                "items",
                "change_items",
                "preview",
                "step",
                "next",
                "add",
                "remove",
                "up",
                "down",
                "kind",
                "to_scales",
                "scales",
            )
        ),
        EDIT,
    ),
    # Annotation projects
    "annotation:home": LOGIN,
    "annotation:new_project": Asks(Act.ANNOTATION_MANAGE, anywhere=True),
    "annotation:project": PROJECT,
    "annotation:next": ANNOTATE,
    "annotation:image": PROJECT,
    "annotation:review": SETTLE,
    "annotation:outputs": SETTLE,
    "annotation:output_runs": MANAGE,
    "annotation:start_outputs": MANAGE,
    "annotation:stop_outputs": MANAGE,
    "annotation:faithfulness": SETTLE,
    "annotation:node_outputs": SETTLE,
    "annotation:agreement": SETTLE,
    "annotation:item": SETTLE,
    "annotation:adjudicate": SETTLE,
    "annotation:accept": SETTLE,
    "annotation:return": SETTLE,
    "annotation:dashboard": MANAGE,
    "annotation:people_csv": MANAGE,
    "annotation:member": MANAGE,
    "annotation:annotators_per_item": MANAGE,
    "annotation:under_way": MANAGE,
    "annotation:assign": MANAGE,
    "annotation:reclaim": MANAGE,
    "annotation:settings": MANAGE,
    "annotation:guideline": MANAGE,
    "annotation:audit": MANAGE,
    "annotation:close": MANAGE,
    "annotation:reopen": MANAGE,
    "annotation:token": LOGIN,
    "annotation:make_token": LOGIN,
    "annotation:end_token": LOGIN,
    # The editor
    "annotation:editor": OTHERS,
    "annotation:api_keys": LOGIN,
    "annotation:api_editor": OTHERS,
    "annotation:api_operations": OTHERS,
    "annotation:api_submit": OTHERS,
    "annotation:api_release": OTHERS,
    "annotation:api_take_back": OTHERS,
    "annotation:api_comments": OTHERS,
    "annotation:api_resolve": OTHERS,
    # The API of projects
    "annotation:api_token": LOGIN,
    "annotation:api_projects": LOGIN,
    "annotation:api_project": PROJECT,
    "annotation:api_members": Asks(Act.ANNOTATION_SETTLE, unsafe=Act.ANNOTATION_MANAGE),
    "annotation:api_guidelines": Asks(Act.PROJECT_SEE, unsafe=Act.ANNOTATION_MANAGE),
    "annotation:api_webhooks": MANAGE,
    "annotation:api_webhook": MANAGE,
    "annotation:api_items": Asks(Act.PROJECT_SEE, unsafe=Act.ANNOTATION_MANAGE),
    "annotation:api_item": PROJECT,
    "annotation:api_item_gold": SETTLE,
    "annotation:api_annotations": PROJECT,
    "annotation:api_annotation": PROJECT,
    "annotation:api_gold": SETTLE,
    "annotation:api_predictions": Asks(Act.ANNOTATION_SETTLE, unsafe=Act.ANNOTATION_MANAGE),
    "annotation:api_systems": SETTLE,
    "annotation:api_faithfulness": SETTLE,
    "annotation:api_comparison": SETTLE,
}
