"""The disks of the atomic log's world: what is synced stays, and a crash leaves a prefix of the rest."""

from random import Random

import pytest

from hansard.consensus.content import Begin, Entry, Proposal
from hansard.consensus.effect import Cut, Discard, Keep, Note, Put, Reset, Trim, Write
from hansard.consensus.recovered import STATE, NoteContent, Recovered, State, encode
from sim.atomic.store_vault import StoreVault
from sim.atomic.vault import Vault, pieces
from sim.oracles.oracle import Violation

from .stand_ins import A


def entries(first: int, count: int, term: int = 1) -> tuple[Entry, ...]:
    return tuple([Entry(term, Proposal(A, 1, number, b"x%d" % number)) for number in range(first, first + count)])


def state(end: int) -> Keep:
    return Keep(STATE, encode(State(end=end)))


def life(*groups: tuple[Write, ...], vault: Vault) -> Vault:
    """All of them written, none synced."""
    for ticket, writes in enumerate(groups, 1):
        vault.write(ticket, writes)
    return vault


@pytest.fixture
def vault(request: pytest.FixtureRequest) -> Vault:
    kind: str = request.param
    return {"prompt": lambda: Vault(lazy=False), "lazy": lambda: Vault(lazy=True), "store": StoreVault}[kind]()


KINDS = pytest.mark.parametrize("vault", ["prompt", "lazy", "store"], indirect=True)


@KINDS
def test_what_is_synced_is_found_after_a_crash(vault: Vault) -> None:
    note = encode(NoteContent(life=3))
    life((Note(note), Put(0, entries(0, 3))), (Cut(2), Put(2, entries(9, 1, 2)), Keep("part", b"p")), vault=vault)
    vault.sync(2)
    assert vault.crash(Random(1)) == 0
    expected = Recovered(note=note, documents={"part": b"p"}, start=0, entries=(*entries(0, 2), *entries(9, 1, 2)))
    assert vault.recover() == expected


@KINDS
def test_a_crash_leaves_every_prefix_of_what_is_not_synced_sooner_or_later(vault: Vault) -> None:
    found: set[tuple[int, bool]] = set()
    for seed in range(80):
        other: Vault = type(vault)() if isinstance(vault, StoreVault) else Vault(lazy=vault.lazy)
        life((Put(0, entries(0, 1)),), (Put(1, entries(1, 2)), Keep("part", b"p")), vault=other)
        other.sync(1)
        other.crash(Random(seed))
        recovered = other.recover()
        assert tuple(recovered.entries) == entries(0, len(recovered.entries))
        found.add((len(recovered.entries), "part" in recovered.documents))
    torn = set() if isinstance(vault, StoreVault) else {(2, False)}  # so little is written to a store in one piece
    assert found == {(1, False), *torn, (3, False), (3, True)}


@KINDS
def test_what_is_trimmed_may_be_there_and_what_is_reset_is_not(vault: Vault) -> None:
    life((Put(0, entries(0, 6)), state(4), Trim(4), Discard("nothing")), vault=vault)
    vault.sync(1)
    vault.crash(Random(2))
    recovered = vault.recover()
    assert recovered.start <= 4
    assert tuple(recovered.entries) == entries(recovered.start, 6 - recovered.start)
    life((state(20), Reset(20)), vault=vault)
    vault.sync(1)
    vault.crash(Random(3))
    assert (vault.recover().start, tuple(vault.recover().entries)) == (20, ())


def test_a_prompt_disk_drops_at_once_and_a_lazy_one_does_not() -> None:
    for lazy, start in ((False, 2), (True, 0)):
        vault = life((Put(0, entries(0, 3)), Trim(2)), vault=Vault(lazy=lazy))
        vault.sync(1)
        assert vault.recover().start == start


@pytest.mark.parametrize("writes", [(Put(1, entries(1, 1)),), (Cut(1),), (Trim(1),)], ids=["hole", "cut", "trim"])
def test_a_write_that_makes_no_sense_is_an_error(writes: tuple[Write, ...]) -> None:
    vault = life(writes, vault=Vault(lazy=False))
    with pytest.raises(AssertionError):
        vault.sync(1)


def test_a_put_falls_into_its_entries() -> None:
    assert pieces([Cut(3), Put(3, entries(3, 2))]) == [Cut(3), Put(3, entries(3, 1)), Put(4, entries(4, 1))]


def test_a_store_that_has_lost_what_was_synced_is_a_violation() -> None:
    vault = StoreVault()
    life((Put(0, entries(0, 2)),), vault=vault)
    vault.sync(1)
    vault.synced.entries.append(Entry(1, Begin()))  # as if it had been synced
    with pytest.raises(Violation, match="what is synced is durable: the disk has 0 to 2 after a crash"):
        vault.crash(Random(1))
