"""A state from the newest checkpoint, then every change from its bookmark on: what somebody has who followed from the
beginning."""

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from secrets import token_hex

import pytest

from hansard.checkpoint import RECORDS, BadSubject, Start, Subject, encoded
from hansard.client import BadCheckpoint, Change, Client
from hansard.testing import Cluster, cluster

from .layered import recorded, written


@pytest.fixture(scope="module")
def four() -> Iterator[Cluster]:
    with cluster(1, buckets=4) as running:
        yield running


@pytest.fixture
def client(four: Cluster) -> Iterator[Client]:
    with Client.connect(four.addresses, token=four.token) as client:
        yield client


@pytest.fixture
def tag() -> str:
    """Nobody else's."""
    return f"tenant:{token_hex(6)}"


def state(changes: list[Change]) -> dict[bytes | None, bytes]:
    """What somebody has who has put each value under its key."""
    found: dict[bytes | None, bytes] = {}
    for change in changes:
        if change.value is None:
            found.pop(change.key, None)
        else:
            found[change.key] = change.value
    return found


def submit(client: Client, tag: str, values: dict[str, str | None]) -> None:
    client.submit_many(list(values), list(values.values()), [[tag]] * len(values))


def test_a_state_and_what_follows_is_what_following_from_the_beginning_gives(
    client: Client, tag: str, tmp_path: Path
) -> None:
    subject = Subject.of([tag])
    submit(client, tag, {f"k{number}": "old" for number in range(100)})
    submit(client, "tenant:other", {"k0": "of another tenant"})
    places = [None, client.bookmark()]
    submit(client, tag, {**{f"k{number}": "new" for number in range(10, 20)}, "k50": None})
    places.append(client.bookmark())
    submit(client, tag, {"k50": "back", "k15": None, "k200": "first"})
    places.append(client.bookmark())
    layers = [
        written(tmp_path, f"layer-{number}", client.read(since=since, until=until, tags=[tag]))
        for number, (since, until) in enumerate(pairwise(places))
    ]
    submit(client, tag, {"k1": None, "k2": "later"})
    assert places[-1] is not None
    recorded(client, subject, places[-1], tmp_path, layers)

    wanted = list(client.read(tags=[tag]))
    boot = client.bootstrap(tags=[tag])
    with pytest.raises(RuntimeError, match="begin"):
        _ = boot.bookmark
    loaded = boot.state()
    assert boot.is_loaded and boot.checkpoint is not None and boot.checkpoint.number == 1
    assert boot.bookmark == places[-1] and boot.state() == []
    assert len({change.key for change in loaded}) == len(loaded), "each key once"
    assert state(loaded) == state(wanted[:-2])
    assert set(loaded) <= set(wanted), "they are the changes themselves"
    after = list(islice(boot, 2))
    assert [change.key for change in after] == [change.key for change in wanted[-2:]]
    assert state(loaded + after) == state(wanted)
    again = client.bootstrap(tags=[tag])
    assert state([next(again) for _ in range(len(loaded) + 2)]) == state(wanted), "one after the other, too"


def test_the_newest_counts_and_its_bookmark_is_where_it_goes_on(client: Client, tag: str, tmp_path: Path) -> None:
    subject = Subject.of([tag])
    for number in (1, 2, 3):
        submit(client, tag, {"k": str(number), f"only-{number}": "x"})
        at = client.bookmark()
        layer = written(tmp_path, f"layer-{number}", client.read(until=at, tags=[tag]))
        recorded(client, subject, at, tmp_path, [layer], number)
    client.submit(subject.key, "no record at all", subject.record_tags)
    late = Start(id="x", number=4, who="somebody", bookmark="b", lasts_us=1)
    client.submit(subject.key, encoded(late), subject.record_tags)
    assert [each.number for each in client.checkpoints(tags=[tag])] == [3, 2, 1]
    assert [each.number for each in client.checkpoints(tags=[tag], limit=2)] == [3, 2]
    boot = client.bootstrap(tags=[tag])
    assert state(boot.state())[b"k"] == b"3"
    submit(client, tag, {"k": "4"})
    assert next(boot).value == b"4"


def test_where_there_is_no_checkpoint_it_follows_from_the_beginning(client: Client, tag: str) -> None:
    submit(client, tag, {"a": "1", "b": "2"})
    boot = client.bootstrap(tags=[tag])
    assert boot.state() == [] and boot.is_loaded and boot.checkpoint is None
    assert state(list(islice(boot, 2))) == {b"a": b"1", b"b": b"2"}


def test_a_checkpoint_is_of_exactly_these_tags(client: Client, tag: str, tmp_path: Path) -> None:
    submit(client, tag, {"a": "1"})
    at = client.bookmark()
    recorded(client, Subject.of([tag]), at, tmp_path, [written(tmp_path, "l", client.read(until=at, tags=[tag]))])
    assert client.checkpoints(tags=[tag, "other"]) == client.checkpoints(tags=[f"{tag}x"]) == []
    assert client.checkpoints(tags=[tag, tag], match="all")[0].number == 1
    with pytest.raises(BadSubject):
        client.bootstrap(tags=[RECORDS])


def test_the_whole_log_is_followed_without_what_checkpointers_tell_each_other(client: Client, tmp_path: Path) -> None:
    key = token_hex(8)
    client.submit(key, "old")
    at = client.bookmark()
    plain = [change for change in client.read(until=at) if RECORDS not in change.tags]
    recorded(client, Subject.of(), at, tmp_path, [written(tmp_path, "all", plain)])
    client.submit(key, "new")
    boot = client.bootstrap()
    assert state(boot.state())[key.encode()] == b"old"
    following = next(boot)
    assert (following.key, following.value) == (key.encode(), b"new"), "the record of the checkpoint itself is between"


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped", "short"])
def test_files_that_are_not_what_the_record_says_are_refused(
    client: Client, tag: str, tmp_path: Path, damage: str
) -> None:
    submit(client, tag, {f"k{number}": "x" * 100 for number in range(50)})
    at = client.bookmark()
    layer = written(tmp_path / "here", "layer", client.read(until=at, tags=[tag]))
    recorded(client, Subject.of([tag]), at, tmp_path / "elsewhere", [layer])
    file = tmp_path / "here" / "layer" / "part-0.parquet"
    content = bytearray(file.read_bytes())
    match damage:
        case "gone":
            with pytest.raises(BadCheckpoint, match="elsewhere"):
                client.bootstrap(tags=[tag]).state()
            assert len(client.bootstrap(tags=[tag], location=str(tmp_path / "here")).state()) == 50
            assert len(client.bootstrap(tags=[tag], location=(tmp_path / "here").as_uri()).state()) == 50
            return
        case "cut":
            file.write_bytes(content[:-100])
        case "flipped":
            content[content.index(b"k0")] ^= 1
            file.write_bytes(content)
        case _:
            file.unlink()
    with pytest.raises(BadCheckpoint):
        client.bootstrap(tags=[tag], location=str(tmp_path / "here")).state()
