"""Alternative texts for the pictures of pages."""

import re

SENTENCES = {
    "annotate": "The projects of an annotator, each with a button to go on.",
    "annotate-new": "The form of a new annotation project.",
    "annotate-work-x": "The editor: the program, what is annotated, and the current step, side by side.",
    "annotate-x": "The page of one annotation project: what is done and what is left.",
    "annotate-x-agreement": "A table of how far annotators agree, with intervals.",
    "annotate-x-audit": "The audit log of a project, newest first.",
    "annotate-x-export": "The formats of an export, and the files made before.",
    "annotate-x-guidelines": "The guidelines of a project, one for each module, with versions.",
    "annotate-x-items": "The items of a project with search and state.",
    "annotate-x-items-upload": "The form that uploads items, and the imports so far.",
    "annotate-x-items-x-edit": "The correction of one item.",
    "annotate-x-members": "The people of a project and their work, invitations and bots.",
    "annotate-x-webhooks": "The webhooks of a project with their deliveries.",
    "annotate-x-items-x": "What two annotators marked at each step of one item, side by side.",
    "annotate-x-outputs": "The systems whose outputs a project has, and a form to run one more.",
    "annotate-x-outputs-x-x": "Scores of one system's module outputs against the gold.",
    "annotate-x-outputs-x-x-x": "One item: the output of the system at each step beside the gold.",
    "annotate-x-review": "Items that wait for somebody to settle their gold.",
    "annotate-x-settings": "The settings of an annotation project.",
    "annotate-x-under-way": "The works that are under way, with buttons to take them back.",
    "staff": "The list of studies with their state and counts.",
    "start": "The page on which staff land after their login.",
    "staff-archive": "The studies that were archived.",
    "staff-correctness": "The runs whose answers can be judged.",
    "staff-correctness-x": "One run: how many answers wait for a judge, and how far the judges agree.",
    "staff-sample-size": "The form that plans a sample size by simulation.",
    "staff-studies-x": "One study: its versions, links and counts.",
    "staff-studies-x-compare": "Two versions of a study compared field by field.",
    "staff-studies-x-correctness": "Which answers of a study are taken as correct.",
    "staff-studies-x-duplicate": "The form that copies a study under a new name.",
    "staff-studies-x-estimates": "Running estimates of a study with their intervals.",
    "staff-studies-x-log": "The log of a study with filters.",
    "staff-studies-x-members": "The members of a study: its shares, and the roles in its workspace.",
    "staff-studies-x-preview": "A page of a launched version as participants see it.",
    "staff-studies-x-privacy": "What a study promises about data, and the forms to delete or anonymise them.",
    "staff-studies-x-running": "A running study: conditions with quotas, where people stopped, flags, notes.",
    "staff-studio": "The start of a new study: from a template or from a file.",
    "staff-studio-x-items": "The choice of items by hand: those chosen, and a search.",
    "staff-studio-x-review": "A draft as a whole: what is left to do, its revisions, its file, the launch.",
    **{
        f"staff-studio-x-step-{name}": f"The studio's step for {words}, with the preview beside the form."
        for name, words in {
            "checks": "screening, comprehension and attention", "conditions": "conditions",
            "items": "items", "questionnaire": "the questionnaire", "recruitment": "recruitment and privacy",
            "rules": "rules of exclusion", "texts": "texts", "translations": "translations",
        }.items()
    },
    "consent": "The consent, with buttons to agree or not.",
    "screening": "Questions that decide who may take part.",
    "instructions": "The instructions on a page of their own.",
    "comprehension": "Questions about the instructions.",
    "pre_survey": "Questions before the items.",
    "survey": "Questions after the items.",
    "done": "The end with the completion code and the code to withdraw.",
    "home": "The page of the site's address without a study.",
    "withdraw": "The form that takes the code to withdraw.",
    "not-found": "The page for an address that there is not.",
}  # fmt: skip


def sentence(stem: str) -> str:
    """Describe a picture by the name of its file without the ending.

    >>> sentence("05-3-320")
    'Page 3 of the items: question, answer, explanation and questions. On a narrow screen.'
    """
    name = re.sub(r"^\d+-(?=.)|-(1200|320)$", "", re.sub(r"-(1200|320)$", "", stem))
    text = SENTENCES.get(name)
    if text is None and name.isdecimal():
        text = f"Page {name} of the items: question, answer, explanation and questions."
    return (text or name.replace("-", " ")) + (" On a narrow screen." if stem.endswith("-320") else "")
