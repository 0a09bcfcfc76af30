"""Pages to judge answers that differ from the gold answer."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require, require_existing, require_somewhere, require_user
from foundation.errors import BadFile
from foundation.translated_messages import show_errors, translate_error
from predictions.explanations.articles import highlight_articles
from predictions.models import PredictionRun
from studyapp.actions import correctness as actions
from studyapp.errors import StudyRefused
from studyapp.models import JudgedAnswer, Study
from studyapp.queries.access import JudgedRun, list_runs_to_judge, reach_of, run_numbered
from studyapp.queries.design import correctness
from studyapp.queries.design.designs import Design, build_design
from studyapp.queries.design.drafts import read_definition
from studyapp.queries.participants.own_answers import find_missed_answers_of_people, has_own_answer_task
from studyapp.queries.studies import find_latest_version
from studyapp.views.access import study_page
from studyapp.web.forms.staff import ProposalsForm, SettleForm, VerdictForm
from studyapp.web.html.tables import QUEUES


def run_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let users through who may judge a run; pass the run."""

    @login_required
    @wraps(view)
    def check_access(request: HttpRequest, pk: int, *args: object, **kwargs: object) -> HttpResponse:
        run = require_existing(run_numbered(pk))
        require(require_user(request), Act.JUDGE, JudgedRun(run))
        return view(request, run, *args, **kwargs)

    return check_access


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """List the runs that the user may judge, with the progress of judging."""
    user = require_user(request)
    if Act.JUDGE not in reach_of(user).anywhere:
        require_somewhere(user, Act.JUDGE)
    counts = correctness.queue_counts()
    rows = [(run, counts.get(run.pk, correctness.QueueCounts())) for run in list_runs_to_judge(user)]
    table = QUEUES.of(request.GET)
    context = {"rows": table.rows(rows), "table": table}
    return render(request, "studyapp/staff/correctness/overview.html", context)


@require_safe
@run_page
def run(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Show the queue of a run: counts, agreement, disagreements, decisions."""
    return _run_page(request, run)


@require_POST
@run_page
def queue_run(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Queue all answers of a run that differ from the gold answer."""
    _confirm_queued(
        request,
        actions.queue_answers(answers=correctness.find_missed_answers(run), by=require_user(request)),
    )
    return redirect("studyapp:correctness_run", run.pk)


@require_POST
@run_page
def import_proposals(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Import verdicts that a program proposes."""
    form = ProposalsForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            new = actions.import_proposals(
                run=run,
                proposals=form.proposals,
                name=form.cleaned_data["file"].name,
                by=require_user(request),
            )
        except BadFile as error:
            form.add_error("file", translate_error(error))
        else:
            messages.success(
                request,
                ngettext("Imported %(number)d new proposal.", "Imported %(number)d new proposals.", new)
                % {"number": new},
            )
            return redirect("studyapp:correctness_run", run.pk)
    return _run_page(request, run, proposals=form, status=422)


@require_safe
@run_page
def judge(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Show an answer to judge, without its system or other judgements.

    A judge who has finished a run goes on with another one on the same dataset.
    """
    user = require_user(request)
    judged = correctness.find_next_answer(run, user)
    if judged is None:
        for other in list_runs_to_judge(user).filter(dataset=run.dataset_id).exclude(pk=run.pk):
            if correctness.find_next_answer(other, user):
                messages.success(
                    request, _("You have judged all answers in that queue. This is the next one.")
                )
                return redirect("studyapp:correctness_judge", other.pk)
        messages.success(request, _("You have judged all answers in this queue."))
        return redirect("studyapp:correctness_run", run.pk)
    return _answer_page(request, run, judged, VerdictForm(initial={"answer": judged.pk}))


@require_POST
@run_page
def store_judgement(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Store a judgement and show the next answer."""
    form = VerdictForm(request.POST)
    is_valid = form.is_valid()
    if "answer" not in form.cleaned_data:
        raise Http404(_("There is no such answer."))
    judged = _answer_or_404(run, form.cleaned_data["answer"])
    if not is_valid:
        return _answer_page(request, run, judged, form, status=422)
    with show_errors(request, actions.CannotJudge):
        actions.judge(
            judged=judged,
            is_correct=form.is_correct,
            note=form.cleaned_data["note"],
            by=require_user(request),
        )
    return redirect("studyapp:correctness_judge", run.pk)


@require_POST
@run_page
def settle(request: HttpRequest, run: PredictionRun, answer: int) -> HttpResponse:
    """Settle a disagreement."""
    judged = _answer_or_404(run, answer)
    form = SettleForm(request.POST, prefix=str(answer))
    if not form.is_valid():
        return _run_page(request, run, failed=(answer, form), status=422)
    with show_errors(request, actions.CannotJudge):
        actions.settle(
            judged=judged,
            is_correct=form.is_correct,
            how=form.cleaned_data["how"],
            note=form.cleaned_data["note"],
            by=require_user(request),
        )
        messages.success(request, _("Decision stored."))
    return redirect("studyapp:correctness_run", run.pk)


@require_safe
@study_page(Act.JUDGE)
def study(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what a launch would count as correct, and later decisions."""
    plan = _plan(request, study)
    version = find_latest_version(study)
    context = {
        "study": study,
        "conditions": correctness.count_design_correctness(plan) if plan else [],
        "version": version,
        "has_own_answers": has_own_answer_task(study),
        "later": len(correctness.find_later_decisions(version)) if version else 0,
    }
    return render(request, "studyapp/staff/correctness/study.html", context)


@require_POST
@study_page(Act.JUDGE)
def queue_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue the shown answers that differ from gold, and begin to judge."""
    by, new = require_user(request), 0
    if has_own_answer_task(study):
        own = find_missed_answers_of_people(study)
        new = actions.queue_answers(answers=own, study=study, by=by, from_people=True)
    plan = _plan(request, study)
    if plan is not None:
        shown = correctness.find_missed_answers_of_design(plan)
        new += actions.queue_answers(answers=shown, study=study, by=by)
    if plan is not None or new:
        _confirm_queued(request, new)
    for condition in plan.conditions if plan else ():
        if condition.run and correctness.find_next_answer(condition.run, by):
            return redirect("studyapp:correctness_judge", condition.run.pk)
    return redirect("studyapp:correctness_study", study.slug)


@require_POST
@study_page(Act.STUDY_EDIT)
def apply_decisions(request: HttpRequest, study: Study) -> HttpResponse:
    """Apply decisions made since the launch to the newest version."""
    version = find_latest_version(study)
    if version is None:
        messages.error(request, _("This study has not been launched yet."))
    else:
        number = actions.apply_decisions(version=version, by=require_user(request))
        messages.success(
            request,
            ngettext("Applied %(number)d decision.", "Applied %(number)d decisions.", number)
            % {"number": number},
        )
    return redirect("studyapp:correctness_study", study.slug)


def _plan(request: HttpRequest, study: Study) -> Design | None:
    try:
        return build_design(read_definition(study), study.workspace)
    except StudyRefused as error:
        messages.error(request, translate_error(error))
        return None


def _confirm_queued(request: HttpRequest, new: int) -> None:
    messages.success(
        request,
        ngettext("Queued %(number)d new answer.", "Queued %(number)d new answers.", new) % {"number": new},
    )


def _answer_or_404(run: PredictionRun, pk: int) -> JudgedAnswer:
    judged = correctness.queue(run).select_related("question").filter(pk=pk).first()
    if judged is None:
        raise Http404(_("There is no such answer."))
    return judged


def _answer_page(
    request: HttpRequest, run: PredictionRun, judged: JudgedAnswer, form: VerdictForm, *, status: int = 200
) -> HttpResponse:
    question = judged.question
    explained, others = highlight_articles(
        question.context, [tuple(fact) for fact in question.supporting_facts or []]
    )
    context = {
        "run": run,
        "judged": judged,
        "form": form,
        "explained": explained,
        "others": others,
        "counts": correctness.count_queue(run),
        "proposals": judged.proposals.all(),
    }
    return render(request, "studyapp/staff/correctness/answer.html", context, status=status)


def _run_page(
    request: HttpRequest,
    run: PredictionRun,
    *,
    failed: tuple[int, SettleForm] | None = None,
    proposals: ProposalsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    disagreed = [
        (row, failed[1] if failed and failed[0] == row.pk else SettleForm(prefix=str(row.pk)))
        for row in correctness.list_disagreements(run)
    ]
    context = {
        "run": run,
        "studies": JudgedRun(run).studies_of(require_user(request)),
        "counts": correctness.count_queue(run),
        "agreement": correctness.judge_agreement(run),
        "disagreed": disagreed,
        "settled": correctness.list_settled_answers(run),
        "proposals": proposals or ProposalsForm(),
        "refused": failed[1] if failed else proposals,
        "left": correctness.find_next_answer(run, require_user(request)) is not None,
    }
    return render(request, "studyapp/staff/correctness/run.html", context, status=status)
