import pytest

from hansard.client import Receipt, Receipts


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
