"""A compressed body holds the same changes, and stays compressed until a column is asked for."""

from hypothesis import given

from hansard.batch import Flag, build, select, tag_mask, to_arrow, trust, verify

from .strategies import Example, examples, few

BATCH = build([f"key-{i}" for i in range(200)], ["value"] * 200, [["a", "b"]] * 200, connection=3)


@few
@given(examples())
def test_compressing_and_decompressing_change_nothing(example: Example) -> None:
    compressed = example.batch.compressed(level=1)
    assert compressed.length <= example.batch.length
    assert verify(compressed.to_bytes()) == compressed
    assert list(compressed.changes()) == example.changes
    assert compressed.decompressed() == example.batch


def test_a_body_that_does_not_shrink_stays_as_it_is() -> None:
    small = build(["k"], ["v"])
    assert small.compressed() is small
    assert small.decompressed() is small


def test_a_compressed_batch_is_compressed_once() -> None:
    compressed = BATCH.compressed()
    assert compressed.header.flags & Flag.COMPRESSED
    assert compressed.length < BATCH.length / 2
    assert compressed.length % 8 == 0
    assert compressed.compressed() is compressed


def test_a_new_header_on_a_compressed_body_leaves_it_compressed() -> None:
    compressed = BATCH.compressed()
    stamped = compressed.stamped(epoch=2, base_offset=50, timestamp=9)
    assert stamped.body is compressed.body
    assert "raw" not in vars(stamped)
    assert stamped.offsets[0] == 50
    assert list(verify(stamped.to_bytes()).changes()) == list(
        BATCH.stamped(epoch=2, base_offset=50, timestamp=9).changes()
    )


def test_opening_does_not_decompress() -> None:
    opened = trust(BATCH.compressed().to_bytes())
    assert "raw" not in vars(opened)
    assert len(opened) == 200
    assert "raw" not in vars(opened)
    assert opened.keys() == BATCH.keys()


def test_everything_works_on_a_compressed_batch() -> None:
    compressed = trust(BATCH.compressed().to_bytes())
    assert to_arrow(compressed).equals(to_arrow(BATCH))
    mask = tag_mask(compressed, [b"a"])
    assert mask is not None and mask.all()
    wanted = compressed.offsets % 2 == 0
    part = select(compressed, wanted)
    assert not part.header.flags & Flag.COMPRESSED
    assert part == select(BATCH, wanted)
