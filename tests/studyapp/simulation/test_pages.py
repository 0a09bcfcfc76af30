"""A bot reads a page: its questions, texts and choices."""

import pytest

from foundation.simulated_people import BotError
from studyapp.simulation.pages import is_right, read_page


def test_an_unknown_answer_is_an_error():
    text = (
        '<h1 class="question-text">Who &amp; what?</h1>'
        '<div class="answer">\n<p class="eyebrow">Answer</p>\n<p>B&#x27;s</p></div>'
    )
    page = read_page("http://testserver/study/s/item/1/", text)
    assert is_right(page, {("Who & what?", "B's"): True}) is True
    assert is_right(page, {("Who & what?", "B's"): None}) is None
    strong = '<mark class="weight strong"><span class="visually-hidden">strong: </span>what?</mark>'
    marked = read_page(page.url, text.replace("what?", f"{strong} "))
    assert is_right(marked, {("Who & what?", "B's"): True}) is True
    with pytest.raises(BotError, match="which no condition does"):
        is_right(page, {("Who & what?", "C"): True})
    with pytest.raises(BotError, match="shows no question"):
        is_right(read_page("http://testserver/study/s/item/1/", "<p>"), {})
