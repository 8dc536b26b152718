from __future__ import annotations

from collections.abc import Collection
from functools import partial
from random import Random

from attend.core.memory import Memory


def nothing(_: list[str]) -> Collection[str]:
    return ()


def _always(ids: Collection[str], _: list[str]) -> Collection[str]:
    return ids


def test_the_last_ids_are_remembered() -> None:
    memory = Memory()
    for n in range(100):
        assert memory.has_none_of([str(n)])
        memory = memory.with_more({str(n): n}, 10, nothing)
        assert list(memory) == [str(each) for each in range(max(0, n - 9), n + 1)]
        assert memory.get(str(n)) == n
        assert memory.get(str(n - 10)) is None
    assert len(memory) == 10


def test_one_that_is_needed_is_kept_in_its_place() -> None:
    memory = Memory({str(n): n for n in range(5)}).with_more({"5": 5, "6": 6}, 5, lambda oldest: {"1"})
    assert memory.all() == {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6}
    assert list(memory) == ["1", "2", "3", "4", "5", "6"]


def test_more_than_it_holds_at_once() -> None:
    memory = Memory({"a": 1}).with_more({str(n): n for n in range(7)}, 3, nothing)
    assert memory.all() == {"4": 4, "5": 5, "6": 6}


def test_two_that_came_from_one_know_nothing_of_each_other() -> None:
    start = Memory({"a": 1, "b": 2})
    one, other = start.with_more({"c": 3}, 3, nothing), start.with_more({"d": 4}, 3, nothing)
    assert (start.all(), one.all(), other.all()) == (
        {"a": 1, "b": 2},
        {"a": 1, "b": 2, "c": 3},
        {"a": 1, "b": 2, "d": 4},
    )
    assert one != other
    assert "c" not in start
    assert start.has_none_of(["c"])
    assert not one.has_none_of(["x", "c"])


def test_every_version_stays_what_it_was() -> None:
    random = Random(7)
    for _ in range(50):
        memory, expected = Memory(), dict[str, int]()
        made = [(memory, expected)]
        for _ in range(60):
            memory, expected = made[-1] if random.random() < 0.8 else random.choice(made)
            ids = {str(random.randrange(60)) for _ in range(random.randrange(1, 6))} - expected.keys()
            more = {id: random.randrange(1000) for id in sorted(ids)}
            needed = {str(random.randrange(60))} if random.random() < 0.1 else set[str]()
            memory = memory.with_more(more, 20, partial(_always, needed))
            expected = expected | more
            for id in list(expected)[: max(0, len(expected) - 20)]:
                if id not in needed:
                    del expected[id]
            made.append((memory, expected))
        for memory, expected in made:
            assert list(memory.all().items()) == list(expected.items())
            assert all(memory.get(str(n)) == expected.get(str(n)) for n in range(60))
