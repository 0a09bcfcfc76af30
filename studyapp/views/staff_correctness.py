"""Staff pages to judge answers that differ from the gold answer."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.policy import Act
from accounts.queries.workspaces import workspaces_of
from foundation.translated_messages import translated_error
from predictions.models import PredictionRun
from predictions.queries.predictions import finished_runs
from studyapp.actions import correctness as actions
from studyapp.models import JudgedAnswer, Study
from studyapp.queries import correctness
from studyapp.queries.designs import Design, StudyRefused, design
from studyapp.queries.drafts import definition_of
from studyapp.queries.studies import latest_version
from studyapp.views.access import staff_only, staff_user, study_or_404
from studyapp.web.staff_forms import SettleForm, VerdictForm
from studyapp.web.stimulus_html import articles


@require_safe
@staff_only
def overview(request: HttpRequest) -> HttpResponse:
    """List all systems and datasets with the progress of their judgements."""
    counts = correctness.queue_counts()
    rows = [
        (run, counts.get(run.pk, correctness.QueueCounts()))
        for run in finished_runs(workspaces_of(staff_user(request), Act.JUDGE))
    ]
    return render(request, "studyapp/staff/correctness/overview.html", {"rows": rows})


@require_safe
@staff_only
def run(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the queue of a run: counts, agreement, disagreements, decisions."""
    return _run_page(request, _run_or_404(pk))


@require_POST
@staff_only
def queue_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue all answers of a run that differ from the gold answer."""
    current_run = _run_or_404(pk)
    _queued(
        request,
        actions.queue_answers(answers=correctness.missed_answers(current_run), by=staff_user(request)),
    )
    return redirect("studyapp:correctness_run", pk)


@require_safe
@staff_only
def judge(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an answer to judge, without its system or other judgements."""
    current_run = _run_or_404(pk)
    judged = correctness.next_answer(current_run, staff_user(request))
    if judged is None:
        messages.success(request, _("You have judged all answers in this queue."))
        return redirect("studyapp:correctness_run", pk)
    return _answer_page(request, current_run, judged, VerdictForm(initial={"answer": judged.pk}))


@require_POST
@staff_only
def store_judgement(request: HttpRequest, pk: int) -> HttpResponse:
    """Store a judgement and show the next answer."""
    current_run = _run_or_404(pk)
    form = VerdictForm(request.POST)
    is_valid = form.is_valid()
    if "answer" not in form.cleaned_data:
        raise Http404(_("There is no such answer."))
    judged = _answer_or_404(current_run, form.cleaned_data["answer"])
    if not is_valid:
        return _answer_page(request, current_run, judged, form, status=422)
    try:
        actions.judge(
            judged=judged,
            is_correct=form.is_correct,
            note=form.cleaned_data["note"],
            by=staff_user(request),
        )
    except actions.CannotJudge as error:
        messages.error(request, translated_error(error))
    return redirect("studyapp:correctness_judge", pk)


@require_POST
@staff_only
def settle(request: HttpRequest, pk: int, answer: int) -> HttpResponse:
    """Settle a disagreement."""
    current_run = _run_or_404(pk)
    judged = _answer_or_404(current_run, answer)
    form = SettleForm(request.POST, prefix=str(answer))
    if not form.is_valid():
        return _run_page(request, current_run, failed=(answer, form), status=422)
    try:
        actions.settle(
            judged=judged,
            is_correct=form.is_correct,
            how=form.cleaned_data["how"],
            note=form.cleaned_data["note"],
            by=staff_user(request),
        )
    except actions.CannotJudge as error:
        messages.error(request, translated_error(error))
    else:
        messages.success(request, _("Decision stored."))
    return redirect("studyapp:correctness_run", pk)


@require_safe
@staff_only
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a launch would count as correct, and later decisions."""
    target = study_or_404(slug)
    plan = _plan(request, target)
    version = latest_version(target)
    context = {
        "study": target,
        "conditions": correctness.correctness_of_design(plan) if plan else [],
        "version": version,
        "later": len(correctness.later_decisions(version)) if version else 0,
    }
    return render(request, "studyapp/staff/correctness/study.html", context)


@require_POST
@staff_only
def queue_study(request: HttpRequest, slug: str) -> HttpResponse:
    """Queue the answers a study shows that differ from the gold answer."""
    target = study_or_404(slug)
    plan = _plan(request, target)
    if plan is not None:
        new = actions.queue_answers(
            answers=correctness.missed_answers_of_design(plan), study=target, by=staff_user(request)
        )
        _queued(request, new)
    return redirect("studyapp:correctness_study", slug)


@require_POST
@staff_only
def apply_decisions(request: HttpRequest, slug: str) -> HttpResponse:
    """Apply decisions made since the launch to the newest version."""
    target = study_or_404(slug)
    version = latest_version(target)
    if version is None:
        messages.error(request, _("This study has not been launched yet."))
    else:
        number = actions.apply_decisions(version=version, by=staff_user(request))
        messages.success(
            request,
            ngettext("Applied %(number)d decision.", "Applied %(number)d decisions.", number)
            % {"number": number},
        )
    return redirect("studyapp:correctness_study", slug)


def _plan(request: HttpRequest, study: Study) -> Design | None:
    try:
        return design(definition_of(study), study.workspace)
    except StudyRefused as error:
        messages.error(request, translated_error(error))
        return None


def _queued(request: HttpRequest, new: int) -> None:
    messages.success(
        request,
        ngettext("Queued %(number)d new answer.", "Queued %(number)d new answers.", new) % {"number": new},
    )


def _run_or_404(pk: int) -> PredictionRun:
    run = PredictionRun.objects.select_related("dataset", "system").filter(pk=pk).first()
    if run is None:
        raise Http404(_("There is no prediction run with this number."))
    return run


def _answer_or_404(run: PredictionRun, pk: int) -> JudgedAnswer:
    judged = correctness.queue(run).select_related("question").filter(pk=pk).first()
    if judged is None:
        raise Http404(_("There is no such answer."))
    return judged


def _answer_page(
    request: HttpRequest, run: PredictionRun, judged: JudgedAnswer, form: VerdictForm, *, status: int = 200
) -> HttpResponse:
    question = judged.question
    explained, others = articles(question.context, [tuple(fact) for fact in question.supporting_facts or []])
    context = {
        "run": run,
        "judged": judged,
        "form": form,
        "explained": explained,
        "others": others,
        "counts": correctness.counts_of(run),
    }
    return render(request, "studyapp/staff/correctness/answer.html", context, status=status)


def _run_page(
    request: HttpRequest,
    run: PredictionRun,
    *,
    failed: tuple[int, SettleForm] | None = None,
    status: int = 200,
) -> HttpResponse:
    disagreed = [
        (row, failed[1] if failed and failed[0] == row.pk else SettleForm(prefix=str(row.pk)))
        for row in correctness.disagreements(run)
    ]
    context = {
        "run": run,
        "counts": correctness.counts_of(run),
        "agreement": correctness.judge_agreement(run),
        "disagreed": disagreed,
        "settled": correctness.settled(run),
        "left": correctness.next_answer(run, staff_user(request)) is not None,
    }
    return render(request, "studyapp/staff/correctness/run.html", context, status=status)
