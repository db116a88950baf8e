"""What a shop has in stock."""


class Inventory:
    def __init__(self, stock=None):
        self.stock = dict(stock or {})

    def add(self, item, count=1):
        self.stock[item] = self.stock.get(item, 0) + count

    def remove(self, item, count=1):
        """Takes items out; KeyError if there are not so many."""
        if self.stock.get(item, 0) < count:
            raise KeyError(item)
        self.stock[item] -= count
        if self.stock[item] == 0:
            del self.stock[item]

    def total(self):
        return sum(self.stock.values())
