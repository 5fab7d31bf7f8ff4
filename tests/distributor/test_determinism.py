"""The same facts give the same table: again, from any image, and in a process whose sets have another order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hansard.distributor.command import Double
from hansard.distributor.distributor import Distributor
from hansard.distributor.fact import Fact, Upgraded
from tests.distributor.company import Company, company
from tests.distributor.storm import Storm

REPOSITORY = Path(__file__).parents[2]


def storm(seed: int) -> list[Fact]:
    found = Storm(seed, zones=("a", "b", "c", "") if seed % 2 else ("",))
    found.rage(60)
    if found.company.here and (buckets := len(found.company.distributor.buckets)):
        found.company.order(Double(2 * buckets))
    found.rage(60)
    return found.company.facts


def hashes(facts: list[Fact]) -> list[int]:
    distributor, found = Distributor(), []
    for fact in facts:
        distributor.apply(fact)
        found.append(distributor.hash)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_same_facts_give_the_same_state_from_every_image(seed: int) -> None:
    facts = storm(seed)
    whole = hashes(facts)
    assert hashes(facts) == whole and len(set(whole)) > len(facts) // 3
    distributor, restored = Distributor(), Distributor()
    for index, fact in enumerate(facts):
        restored.restore(distributor.image())
        assert restored.image() == distributor.image()
        distributor.apply(fact)
        restored.apply(fact)
        assert restored.hash == whole[index]
        assert (restored.version, restored.buckets) == (distributor.version, distributor.buckets)


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_that_lives_on_from_an_image_stays_the_same(seed: int) -> None:
    facts = storm(seed)
    whole = hashes(facts)
    for start in range(0, len(facts), 40):
        distributor, restored = Distributor(), Distributor()
        for fact in facts[:start]:
            distributor.apply(fact)
        restored.restore(distributor.image())
        for index, fact in enumerate(facts[start:], start):
            restored.apply(fact)
            assert restored.hash == whole[index]


def printed(hash_seed: int) -> str:
    """What this module prints, in a process whose sets of strings have an order of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.distributor.test_determinism"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


def test_the_state_does_not_depend_on_the_order_of_sets() -> None:
    one = printed(1)
    assert len(one.splitlines()) == 8
    assert [printed(2), printed(3)] == [one, one]


# Images.


def test_the_state_before_any_fact_is_the_empty_image() -> None:
    distributor = company("abc", 4).distributor
    distributor.restore(b"")
    assert distributor.image() == b"" and distributor.hash == Distributor().hash
    assert not distributor.buckets and not distributor.touched


def test_what_happened_before_the_founding_is_in_the_image() -> None:
    cluster = Company()
    cluster.arrive("a")
    cluster.order(Storm(0)._wish(0))
    cluster.depart("a")
    assert cluster.distributor.image() != b""


def test_the_rules_are_in_the_image() -> None:
    distributor = Distributor()
    distributor.apply(Upgraded(3))
    other = Distributor()
    other.restore(distributor.image())
    assert other.rules == 3


if __name__ == "__main__":
    for number in range(8):
        sys.stdout.write(f"{hashes(storm(number))}\n")
