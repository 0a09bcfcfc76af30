"""Numbers and dates by rule: what counts as one, and where it stands."""

import pytest

from modelserver.modular.text.quantities import find_dates, find_numbers, locate_quantities
from modelserver.world.games import generate
from modelserver.world.games.prose import tokenise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 49-yard run", [("49", 49)]),
        ("30,589 supporters, .5 of them", [("30,589", 30589), (".5", 0.5)]),
        ("1.5 million and twenty-one", [("1.5 million", 1_500_000), ("twenty-one", 21)]),
        ("in the 1990s, on the 4th", []),
        ("the price of $40 or 50%", [("40", 40), ("50", 50)]),
        ("On 13 September 2018 he ran 7 yards", [("7", 7)]),
        ("In 1997 he ran", [("1997", 1997)]),
        ("none of anyone's bones", []),
        ("🏈 two, three", [("two", 2), ("three", 3)]),
    ],
)
def test_numbers(text, expected):
    assert [
        (text[quantity.start : quantity.end], quantity.value) for quantity in find_numbers(text)
    ] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 27 November 1939.", [("27 November 1939", "1939-11-27")]),
        ("on September 11, 1960", [("September 11, 1960", "1960-09-11")]),
        ("June 3 , 1987", [("June 3 , 1987", "1987-06-03")]),
        ("in May 1999 and 2001-02-03", [("May 1999", "1999-05"), ("2001-02-03", "2001-02-03")]),
        ("305 BC, not 305", [("305 BC", "-0304")]),
        ("in 1961, with 1,961 men and 1961.5", [("1961", "1961")]),
        ("on May 5 he may go", []),
    ],
)
def test_dates(text, expected):
    assert [
        (text[quantity.start : quantity.end], quantity.value) for quantity in find_dates(text)
    ] == expected


def test_every_gold_number_and_date_of_the_games_is_found_where_it_stands():
    checked = 0
    for game in generate("train", 60, 5):
        passage = game["passage"]
        places = {
            (quantity.start, quantity.end) for quantity in [*find_numbers(passage), *find_dates(passage)]
        }
        for index, layer in game["gold"]["layers"].items():
            if game["program"].startswith("find-") and index == "0":
                continue  # chosen from those of the node below
            for gold_object in layer["objects"]:
                quote = gold_object.get("quote", "")
                if quote.replace(",", "").isdecimal():
                    assert tuple(gold_object["span"]) in places, quote
                    checked += 1
    assert checked > 20


def test_a_quantity_has_the_words_that_it_touches():
    text = "a 49-yard run on 3 May 1950"
    placed = locate_quantities([*find_numbers(text), *find_dates(text)], tokenise(text))
    assert [words for _, words in placed] == [(1, 2), (6, 9)]
    assert locate_quantities(find_numbers("7"), [(3, 4)]) == []
