import pytest
from settings import parse


def test_names_and_values():
    assert parse("Colour = red\nsize=3") == {"colour": "red", "size": "3"}


def test_what_does_not_count():
    assert parse("# a comment\n\n   # another = one\nsize = 3\n") == {"size": "3"}


def test_a_value_with_an_equals_sign():
    assert parse("rule = a = b") == {"rule": "a = b"}


def test_a_line_without_one():
    with pytest.raises(ValueError, match="line 2"):
        parse("size = 3\ncolour")
