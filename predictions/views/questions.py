"""Pages of questions: the list, and one with all answers to it."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from django import forms
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.actions.audit import record_export
from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require_user
from foundation.images.image_files import build_image_response
from foundation.pages.spreadsheet import build_csv_download
from predictions.explanations.articles import Article, Sentence, cut_pieces, highlight_articles
from predictions.models import Dataset, Question
from predictions.queries.pages import SystemAnswer, list_system_answers
from predictions.queries.rest import QUESTION_COLUMNS, build_question_rows, find_matching_questions
from predictions.views.access import DataRequest, dataset_page, question_page
from predictions.views.tables import QUESTIONS

MOST_KEY = 2**63 - 1
SHOWN = 50  # questions of a page


class Search(forms.Form):
    """The words and the place of a list of questions."""

    q = forms.CharField(required=False, max_length=200)
    after = forms.IntegerField(required=False, min_value=1, max_value=MOST_KEY)
    before = forms.IntegerField(required=False, min_value=1, max_value=MOST_KEY)


class ShownSentence(NamedTuple):
    """A sentence, and who names it as a fact."""

    text: str
    is_gold: bool
    by: list[SystemAnswer]


@dataclass(frozen=True)
class ShownArticle:
    """An article with its title and sentences."""

    title: str
    sentences: list[ShownSentence]

    @property
    def is_named(self) -> bool:
        """True if the gold or a system names a sentence of it."""
        return any(sentence.is_gold or sentence.by for sentence in self.sentences)


class ShownAnswer(NamedTuple):
    """The answer of a system, its facts, and what it highlights."""

    answer: SystemAnswer
    facts: list[tuple[str, int, str]]
    articles: list[Article]
    question: Sentence | None


@require_safe
@dataset_page(Act.DATA_SEE)
def questions(request: HttpRequest, dataset: Dataset) -> HttpResponse:
    """List the questions of a dataset page by page, or those with some words."""
    search = Search(request.GET)
    wishes: dict[str, Any] = search.cleaned_data if search.is_valid() else {"q": ""}
    words = wishes["q"]
    table = QUESTIONS.of(request.GET)
    listed = _list_questions(dataset, words)
    page = table.page(listed, SHOWN, after=wishes.get("after"), before=wishes.get("before"))
    return render(
        request,
        "data/questions.html",
        {
            "dataset": dataset,
            "page": page,
            "words": words,
            "table": table,
            "manages": cast(DataRequest, request).manages,
        },
    )


def _list_questions(dataset: Dataset, words: str) -> QuerySet[Question]:
    """Return the questions without their articles."""
    return find_matching_questions(dataset, words).only("external_id", "text", "answer", "kind", "level")


@require_safe
@dataset_page(Act.DATA_SEE)
def export(request: HttpRequest, dataset: Dataset) -> HttpResponseBase:
    """Return the questions that a search finds as CSV."""
    search = Search(request.GET)
    words = search.cleaned_data["q"] if search.is_valid() else ""
    if request.method == "GET":  # HEAD exports nothing
        record_export(by=require_user(request), subject=dataset, kind="questions")
    return build_csv_download(
        f"{dataset.name}-questions", QUESTION_COLUMNS, build_question_rows(dataset, words)
    )


@require_safe
@question_page(Act.DATA_SEE)
def question(request: HttpRequest, question: Question) -> HttpResponse:
    """Show a question: its gold, its articles, and each system's answer."""
    answers = list_system_answers(question)
    shown = _articles(question, answers)
    return render(
        request,
        "data/question.html",
        {
            "dataset": question.dataset,
            "question": question,
            "named": [article for article in shown if article.is_named],
            "others": [article for article in shown if not article.is_named],
            "answers": [_build_shown_answer(question, answer) for answer in answers],
            "following": _list_questions(question.dataset, "").filter(pk__gt=question.pk).order_by("pk")[:1],
        },
    )


@require_safe
@question_page(Act.DATA_SEE)
def image(request: HttpRequest, question: Question, number: int) -> HttpResponseBase:
    """Return an image of a question; numbers begin with 1."""
    images = question.images
    if not 1 <= number <= len(images):
        raise Http404(NOT_THERE)
    return build_image_response(images[number - 1]["path"])


def _articles(question: Question, answers: list[SystemAnswer]) -> list[ShownArticle]:
    gold = {(title, index) for title, index in question.supporting_facts or []}
    return [
        ShownArticle(
            title,
            [
                ShownSentence(
                    text.strip(),
                    (title, index) in gold,
                    [answer for answer in answers if (title, index) in answer.facts],
                )
                for index, text in enumerate(sentences)
                if text.strip()
            ],
        )
        for title, sentences in question.context
    ]


def _build_shown_answer(question: Question, answer: SystemAnswer) -> ShownAnswer:
    pieces = answer.pieces
    explained, _others = highlight_articles(question.context, answer.facts, pieces.context)
    asked = Sentence(cut_pieces(question.text, pieces.question), False) if pieces.question else None
    texts = {
        (title, index): text for title, sentences in question.context for index, text in enumerate(sentences)
    }
    facts = [(title, index, texts.get((title, index), "")) for title, index in answer.prediction.facts]
    return ShownAnswer(answer, facts, explained if pieces.context else [], asked)
