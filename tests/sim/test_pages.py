"""Pages behave as one run of bytes, and copies as if they shared nothing."""

from hypothesis import given
from hypothesis import strategies as st

from sim.pages import PAGE_BYTES, Pages

PLACES = st.integers(0, 3 * PAGE_BYTES) | st.sampled_from([0, PAGE_BYTES - 1, PAGE_BYTES, 2 * PAGE_BYTES])


@given(st.lists(st.tuples(st.sampled_from(["write", "resize"]), PLACES, PLACES), max_size=8), PLACES, PLACES)
def test_pages_hold_what_an_array_would(steps: list[tuple[str, int, int]], start: int, count: int) -> None:
    pages, plain = Pages(), bytearray()
    for number, (action, place, length) in enumerate(steps, start=1):
        before, copy = bytes(plain), pages.copy()
        if action == "write" and length:
            plain.extend(bytes(max(0, place - len(plain))))
            plain[place : place + length] = bytes([number]) * length
            pages.write(place, bytes([number]) * length)
        elif action == "resize":
            del plain[place:]
            plain.extend(bytes(place - len(plain)))
            pages.resize(place)
        assert copy.read(0, len(copy)) == before
        assert pages.read(0, len(pages)) == plain
        assert pages.read(start, count) == plain[start : start + count]


def test_a_flip_changes_one_byte() -> None:
    pages = Pages()
    pages.write(PAGE_BYTES - 1, b"ab")
    pages.flip(PAGE_BYTES, 0x03)
    assert pages.read(PAGE_BYTES - 1, 9) == b"aa"
