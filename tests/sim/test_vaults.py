"""The disks of the simulated participants: the model, and the real store beside it."""

from random import Random

import pytest

from hansard.batch import Batch, build
from hansard.phaser.effect import Cut, Discard, Keep, Note, Put, Reset, Write
from sim.oracles import Violation
from sim.world.store_vault import BUCKET, StoreVault
from sim.world.vault import Image, ModelVault, Vault


def batch(base: int, *values: bytes, term: int = 1) -> Batch:
    return build([b"k"] * len(values), values).stamped(epoch=term, base_offset=base, timestamp=base + 1)


def put(base: int, *values: bytes) -> Put:
    return Put(batch(base, *values))


def bases(batches: list[Batch]) -> list[int]:
    return [batch.header.base_offset for batch in batches]


@pytest.fixture(params=[ModelVault, StoreVault])
def vault(request: pytest.FixtureRequest) -> Vault:
    """What holds of one holds of the other."""
    made: ModelVault | StoreVault = request.param()
    return made


def test_what_is_written_can_be_read_at_once_and_is_not_on_disk_yet(vault: Vault) -> None:
    vault.write(1, (put(0, b"a"), put(1, b"b", b"c")))
    assert bases(vault.fetch(0, 1 << 20)) == [0, 1]
    assert vault.synced_batches() == []


def test_a_fetch_ends_with_the_batch_that_exceeds_its_bytes(vault: Vault) -> None:
    vault.write(1, (put(0, b"a"), put(1, b"b"), put(2, b"c")))
    length = vault.fetch(0, 1)[0].length
    assert bases(vault.fetch(0, 1)) == [0]
    assert bases(vault.fetch(1, length)) == [1]
    assert bases(vault.fetch(1, length + 1)) == [1, 2]
    assert vault.fetch(3, 1 << 20) == []


def test_a_sync_is_of_everything_up_to_its_ticket(vault: Vault) -> None:
    for ticket in (1, 2, 3):
        vault.write(ticket, (put(ticket - 1, b"a"),))
    vault.sync(2)
    assert bases(vault.synced_batches()) == [0, 1]
    vault.sync(3)
    assert bases(vault.synced_batches()) == [0, 1, 2]


def ends_after_crashes(kind: type[ModelVault | StoreVault], count: int) -> set[int]:
    """Where a log ends of which the first batch is synced, and three are not."""
    ends: set[int] = set()
    for seed in range(count):
        vault = kind()
        vault.write(1, (put(0, b"a"), Note(b"one")))
        vault.sync(1)
        vault.write(2, (put(1, b"b"), put(2, b"c")))
        vault.write(3, (put(3, b"d"),))
        vault.crash(Random(seed))
        recovered = vault.recover()
        assert recovered.note == b"one"
        assert bases(vault.synced_batches()) == bases(vault.fetch(0, 1 << 20)) == list(range(recovered.end))
        ends.add(recovered.end)
    return ends


def test_a_crash_leaves_what_was_synced_and_any_prefix_of_the_writes_after_it() -> None:
    assert ends_after_crashes(ModelVault, 100) == {1, 2, 3, 4}
    assert {1, 4} <= ends_after_crashes(StoreVault, 30) <= {1, 2, 3, 4}


def test_after_a_crash_the_log_goes_on_where_it_ends(vault: Vault) -> None:
    vault.write(1, (put(0, b"a"), put(1, b"b")))
    vault.crash(Random(1))
    end = vault.recover().end
    vault.write(1, (put(end, b"c"),))
    vault.sync(1)
    assert bases(vault.synced_batches()) == list(range(end + 1))
    vault.crash(Random(2))
    assert vault.recover().end == end + 1


def test_a_log_without_a_hole_is_asserted() -> None:
    with pytest.raises(AssertionError, match="a log has no holes"):
        ModelVault().write(1, (put(1, b"a"),))


def test_a_cut_within_a_batch_or_beyond_the_log_is_no_cut() -> None:
    for end in (1, 3):
        vault = ModelVault()
        vault.write(1, (put(0, b"a", b"b"),))
        with pytest.raises(AssertionError, match="a cut is made between batches"):
            vault.write(2, (Cut(end),))


def test_retention_drops_whole_batches_and_waits_for_what_is_under_way() -> None:
    vault = ModelVault()
    vault.write(1, (put(0, b"a"), put(1, b"b", b"c"), put(3, b"d")))
    assert vault.trim(3) == 0
    vault.sync(1)
    assert vault.trim(2) == 1
    vault.write(2, (put(4, b"e"),))
    assert vault.trim(3) == 1
    vault.sync(2)
    assert vault.trim(3) == 3 and vault.start == 3
    vault.crash(Random(1))
    assert vault.recover().start == 3 and bases(vault.synced_batches()) == [3, 4]


def test_a_recovered_copy_has_all_that_was_kept() -> None:
    vault = ModelVault()
    vault.write(1, (put(0, b"a"), Note(b"n"), Keep("x", b"1"), Keep("y", b"2"), Discard("x")))
    recovered = vault.recover()
    assert (recovered.start, recovered.end, recovered.note, recovered.timestamp) == (0, 1, b"n", 1)
    assert dict(recovered.documents) == {"y": b"2"}
    assert bases(list(recovered.batches)) == [0]


# The store against the model.


class Life:
    """Random writes, syncs, crashes and retention, done to a store and to a model of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.vault = StoreVault()
        self.synced = Image()
        self.current = Image()
        self.under_way: list[tuple[int, Write]] = []
        self.ticket = 0
        self.crashes = 0
        self.survived = 0

    def step(self) -> None:
        draw = self.random.random()
        if draw < 0.6:
            self.write()
        elif draw < 0.85:
            self.sync()
        elif draw < 0.93:
            self.crash()
        elif not self.under_way:
            start = self.vault.trim(self.random.randint(self.current.start, self.current.end))
            self.current.trim(start)
            self.synced.trim(start)
            assert self.vault.start == self.current.start == start

    def write(self) -> None:
        random, writes = self.random, list[Write]()
        self.ticket += 1
        for _ in range(random.randint(1, 4)):
            write = self._draw(random, self.current)
            self.current.apply(write)
            writes.append(write)
            self.under_way.append((self.ticket, write))
        self.vault.write(self.ticket, tuple(writes))

    def _draw(self, random: Random, image: Image) -> Write:
        draw = random.random()
        name = random.choice(("part-1", "part-2", "part-3"))
        if draw < 0.6:
            return put(image.end, *[random.randbytes(random.choice((1, 600))) for _ in range(random.randint(1, 3))])
        if draw < 0.7:
            return Cut(random.choice([image.start, *[batch.header.end_offset for batch in image.batches[-3:]]]))
        if draw < 0.72:
            return Reset(random.randint(0, image.end + 5))
        if draw < 0.85:
            return Note(random.randbytes(8))
        return Keep(name, random.randbytes(20)) if draw < 0.95 else Discard(name)

    def sync(self) -> None:
        through = self.random.randint(self.ticket - 2, self.ticket)
        self.vault.sync(through)
        while self.under_way and self.under_way[0][0] <= through:
            self.synced.apply(self.under_way.pop(0)[1])

    def crash(self) -> None:
        """It leaves what was synced, and one of the prefixes of what was not."""
        self.vault.crash(self.random)
        found = self.stored()
        self.crashes += 1
        for _, write in self.under_way:
            if contents(self.synced) == found:
                break
            self.synced.apply(write)
            self.survived += 1
        assert contents(self.synced) == found
        self.current = self.synced.copy()
        self.under_way = []

    def stored(self) -> object:
        """What the store itself says, and not the model that goes along with it."""
        store = self.vault.store
        start, end = store.bounds(BUCKET)
        batches = store.batches(BUCKET, start, 1 << 40) if start < end else []
        documents = {name: store.document(BUCKET, name) for name in store.documents(BUCKET)}
        return start, end, store.note(BUCKET), documents, [batch.to_bytes() for batch in batches]


def contents(image: Image) -> object:
    batches = [batch.to_bytes() for batch in image.batches]
    return image.start, image.end, image.note, image.documents, batches


def test_the_real_store_agrees_with_the_model_over_random_lives_with_crashes() -> None:
    crashes = survived = 0
    for seed in range(6):
        life = Life(seed)
        for _ in range(80):
            life.step()
            assert life.stored() == contents(life.synced)
            assert life.vault.synced_batches() == life.synced.batches
            recovered = life.vault.recover()
            assert (recovered.start, recovered.end) == (life.current.start, life.current.end)
        crashes += life.crashes
        survived += life.survived
    assert crashes > 20 and survived > 10


def test_a_store_that_lost_what_was_synced_is_a_violation() -> None:
    vault = StoreVault()
    vault.write(1, (put(0, b"a"), put(1, b"b")))
    vault.sync(1)
    vault.model.synced.apply(put(2, b"never stored"))
    with pytest.raises(Violation, match="acknowledged is durable: the disk has"):
        vault.crash(Random(1))
