"""Lengths: how many metres a unit has."""

METRES = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "inch": 0.0254, "foot": 0.3048}


def metres(value, unit):
    """A length in metres; KeyError if nobody knows the unit."""
    return value * METRES[unit]
