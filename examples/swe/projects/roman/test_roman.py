import pytest
from roman import from_roman, to_roman


@pytest.mark.parametrize("number, numeral", [(1, "I"), (4, "IV"), (9, "IX"), (40, "XL"), (1994, "MCMXCIV"), (3999, "MMMCMXCIX")])
def test_both_ways(number, numeral):
    assert to_roman(number) == numeral
    assert from_roman(numeral) == number


@pytest.mark.parametrize("number", [0, -1, 4000])
def test_no_numeral(number):
    with pytest.raises(ValueError):
        to_roman(number)
