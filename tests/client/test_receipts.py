import pytest

from hansard.client import Receipt, Receipts
from hansard.client.receipts import Mosaic


def test_receipts_are_those_of_consecutive_changes() -> None:
    receipts = Receipts(2, 3, 10, 99)
    assert list(receipts) == [Receipt(2, 10, 99), Receipt(2, 11, 99), Receipt(2, 12, 99)]
    assert len(receipts) == 3 and receipts[0] == receipts[-3] == Receipt(2, 10, 99)
    assert receipts[1:] == list(receipts)[1:] and receipts[::-1] == list(receipts)[::-1]
    for index in (3, -4):
        with pytest.raises(IndexError):
            receipts[index]


def test_of_changes_that_were_stored_before_no_place_is_known() -> None:
    assert list(Receipts(0, 3, 10, 99, repeated=2)) == [Receipt(0, None, None)] * 2 + [Receipt(0, 10, 99)]
    assert list(Receipts(0, 2, None, None)) == [Receipt(0, None, None)] * 2


@pytest.mark.parametrize("receipts", [Receipts(1, 6, 10, 99), Receipts(1, 6, 10, 99, 3), Receipts(1, 6, None, None)])
def test_those_of_some_changes_are_the_same_as_among_all(receipts: Receipts) -> None:
    everything = list(receipts)
    assert everything == [receipts[place] for place in range(6)]
    for start in range(6):
        for end in range(start, 7):
            assert list(receipts.between(start, end)) == everything[start:end]


def test_receipts_of_several_buckets_are_in_the_order_of_the_call() -> None:
    mosaic = Mosaic(4, [([0, 3], Receipts(5, 2, 10, 99)), ([1, 2], [Receipt(6, 7, 98), Receipt(6, 9, 98)])])
    made = [Receipt(5, 10, 99), Receipt(6, 7, 98), Receipt(6, 9, 98), Receipt(5, 11, 99)]
    assert len(mosaic) == 4 and mosaic[-1] == made[3] and mosaic[1:] == made[1:] and list(mosaic) == made
