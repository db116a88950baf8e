"""Lengths from one unit to another, also as text."""

from units import METRES, metres


def convert(value, unit, into):
    return metres(value, unit) / METRES[into]


def parse(text):
    """A length such as `1.5 km`, in metres."""
    value, unit = text.split()
    return metres(float(value), unit)
