from cache import Cache


def test_what_was_put_is_there():
    cache = Cache(2)
    cache.put("a", 1)
    assert cache.get("a") == 1 and cache.get("b") is None


def test_the_oldest_goes():
    cache = Cache(2)
    for key in "abc":
        cache.put(key, key)
    assert cache.get("a") is None and cache.get("b") == "b" and cache.get("c") == "c"


def test_what_was_used_stays():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert cache.get("a") == 1 and cache.get("b") is None


def test_putting_twice():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("a", 2)
    cache.put("b", 3)
    assert cache.get("a") == 2 and cache.get("b") == 3
