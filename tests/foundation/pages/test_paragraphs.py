"""Tests of plain texts as paragraphs."""

from foundation.pages.paragraphs import paragraphs

WRAPPED = "You take part in a study of question answering systems and their\nexplanations. It takes long."


def test_wrapped_lines_join():
    assert paragraphs(WRAPPED) == f"<p>{WRAPPED.replace(chr(10), ' ')}</p>"
    assert paragraphs(WRAPPED.replace("\n", "\r\n  ")) == paragraphs(WRAPPED)


def test_an_empty_line_begins_a_paragraph():
    assert paragraphs("One.\n\nTwo.") == "<p>One.</p>\n\n<p>Two.</p>"


def test_short_lines_and_lists_keep_their_lines():
    assert paragraphs("Ann Lee\nUniversity") == "<p>Ann Lee<br>University</p>"
    assert paragraphs(f"{'x' * 60}:\n- one\n2. two") == f"<p>{'x' * 60}:<br>- one<br>2. two</p>"


def test_marks_of_html_are_text():
    assert paragraphs("<b>&</b>") == "<p>&lt;b&gt;&amp;&lt;/b&gt;</p>"
