"""Bytes in pages, so that a copy costs little however long they are.

A crash is drawn tens of thousands of times from one run, and each time from a copy. Pages are never changed,
only replaced, so copies share what they have in common; fresh space is one page of zeros, many times over.
"""

PAGE_BYTES = 4096
ZERO_PAGE = bytes(PAGE_BYTES)


class Pages:
    """A file's bytes. What lies behind the end in the last page is zero, so that growing shows zeros."""

    __slots__ = ("_length", "_pages")

    def __init__(self) -> None:
        self._pages: list[bytes] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def copy(self) -> "Pages":
        twin = Pages()
        twin._pages = self._pages.copy()
        twin._length = self._length
        return twin

    def read(self, position: int, length: int) -> bytes:
        """Fewer bytes only at the end."""
        end = min(position + length, self._length)
        if position >= end:
            return b""
        first, offset = divmod(position, PAGE_BYTES)
        covering = self._pages[first : (end - 1) // PAGE_BYTES + 1]
        return b"".join(covering)[offset : offset + end - position]

    def write(self, position: int, data: bytes | memoryview) -> None:
        """Grows when needed, with zeros before `position`."""
        if position + len(data) > self._length:
            self.resize(position + len(data))
        rest = memoryview(data)
        index, offset = divmod(position, PAGE_BYTES)
        while rest:
            piece = rest[: PAGE_BYTES - offset]
            old = self._pages[index]
            self._pages[index] = b"".join((old[:offset], piece, old[offset + len(piece) :]))
            rest = rest[len(piece) :]
            index, offset = index + 1, 0

    def resize(self, length: int) -> None:
        if length < self._length:
            self.write(length, ZERO_PAGE[: min(self._length - length, -length % PAGE_BYTES)])
        page_count = -(-length // PAGE_BYTES)
        del self._pages[page_count:]
        self._pages.extend([ZERO_PAGE] * (page_count - len(self._pages)))
        self._length = length

    def flip(self, position: int, mask: int) -> None:
        self.write(position, bytes([self.read(position, 1)[0] ^ mask]))
