"""Half-open intervals of integers, as pairs (start, end)."""


def merge(intervals):
    """The same numbers in as few intervals as possible, in order."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def length(intervals):
    """How many numbers lie in at least one of them."""
    return sum(end - start for start, end in merge(intervals))
