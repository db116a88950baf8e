from intervals import length, merge


def test_apart():
    assert merge([(5, 6), (1, 2)]) == [(1, 2), (5, 6)]


def test_overlapping():
    assert merge([(1, 4), (3, 6)]) == [(1, 6)]


def test_touching():
    assert merge([(1, 3), (3, 5)]) == [(1, 5)]


def test_one_within_another():
    assert merge([(1, 10), (2, 3)]) == [(1, 10)]
    assert length([(1, 10), (2, 3), (20, 21)]) == 10
