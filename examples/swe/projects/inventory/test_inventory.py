import pytest
from inventory import Inventory


def test_adding():
    shop = Inventory({"nail": 2})
    shop.add("nail", 3)
    shop.add("saw")
    assert shop.stock == {"nail": 5, "saw": 1} and shop.total() == 6


def test_what_was_given_stays_as_it_is():
    given = {"nail": 2}
    Inventory(given).add("nail")
    assert given == {"nail": 2}


def test_removing():
    shop = Inventory({"nail": 2})
    shop.remove("nail", 2)
    assert shop.stock == {}


def test_removing_too_many():
    shop = Inventory({"nail": 2})
    with pytest.raises(KeyError):
        shop.remove("nail", 3)
    assert shop.total() == 2
