"""A cache that forgets what was not used for longest."""


class Cache:
    def __init__(self, size):
        self.size = size
        self.kept = {}

    def get(self, key):
        """The value of a key, or None."""
        if key not in self.kept:
            return None
        value = self.kept.pop(key)
        self.kept[key] = value
        return value

    def put(self, key, value):
        self.kept.pop(key, None)
        self.kept[key] = value
        if len(self.kept) > self.size:
            oldest = next(iter(self.kept))
            del self.kept[oldest]
