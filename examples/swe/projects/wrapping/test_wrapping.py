from wrapping import wrap


def test_nothing():
    assert wrap("  ", 10) == []


def test_short():
    assert wrap("one two", 10) == ["one two"]


def test_exactly_as_wide():
    assert wrap("four five", 9) == ["four five"]


def test_several_lines():
    assert wrap("a bb ccc dddd", 4) == ["a bb", "ccc", "dddd"]


def test_a_word_too_long():
    assert wrap("a wonderful b", 4) == ["a", "wonderful", "b"]
