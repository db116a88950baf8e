"""Roman numerals from 1 to 3999."""

SIGNS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def to_roman(number):
    """A number's numeral; ValueError if it has none."""
    if not 1 <= number <= 3999:
        raise ValueError(number)
    numeral = ""
    for value, sign in SIGNS:
        while number >= value:
            numeral += sign
            number -= value
    return numeral


def from_roman(numeral):
    """A numeral's number."""
    values = {sign: value for value, sign in SIGNS if len(sign) == 1}
    total = 0
    for at, sign in enumerate(numeral):
        value = values[sign]
        following = values[numeral[at + 1]] if at + 1 < len(numeral) else 0
        total += -value if value < following else value
    return total
