import pytest
from convert import convert, parse


def test_to_itself():
    assert convert(3, "m", "m") == 3


def test_smaller_and_larger():
    assert convert(2, "km", "m") == pytest.approx(2000)
    assert convert(50, "cm", "m") == pytest.approx(0.5)


def test_feet():
    assert convert(1, "foot", "inch") == pytest.approx(12)


def test_text():
    assert parse("1.5 km") == pytest.approx(1500)
    with pytest.raises(KeyError):
        parse("1 mile")
