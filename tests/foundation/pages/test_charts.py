"""Charts: shapes fill their box and hold their values."""

from foundation.pages.charts import build_bar_parts, build_columns, build_intervals


def numbers(*texts: str) -> list[float]:
    return [float(text.removesuffix("%")) for text in texts]


def test_columns_stand_on_the_axis_and_leave_room_above():
    chart = build_columns([("a", 2), ("b", 0), ("c", 4)])
    assert chart.most == 4
    for column in chart.columns:
        y, height = numbers(column.y, column.height)
        assert y + height == 100
    assert numbers(chart.columns[2].height) == [96]
    assert numbers(chart.columns[1].height) == [0]


def test_no_rows_are_no_chart_and_zeros_are_one():
    assert build_columns([]) is None
    assert build_columns([("a", 0)]).most == 1


def test_parts_follow_one_another_without_empty_ones():
    bar = build_bar_parts([("good", "Good", 1), ("bad", "Bad", 0), ("open", "Open", 3)])
    assert [(part.css, *numbers(part.x, part.width)) for part in bar] == [("good", 0, 25), ("open", 25, 75)]
    assert numbers(build_bar_parts([("good", "Good", 1)], length=10)[0].width) == [10]


def test_intervals_share_an_axis_with_zero_in_sight():
    [first, second], zero = build_intervals([("a", "1", 1.0, 0.5, 1.5), ("b", "2", 2.0, None, None)])
    assert zero
    assert numbers(zero)[0] < numbers(first.start)[0] < numbers(first.at)[0] < numbers(second.at)[0]
    assert (second.start, second.end) == ("", "")
