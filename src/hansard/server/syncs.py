"""fdatasync without a thread: the kernel is asked for it, and says when it is done by making a descriptor readable.

A thread that syncs costs more than the sync of something small does: it has to be woken, needs the interpreter before
and after, and wakes the loop in turn. Linux syncs files in its own threads (`io_submit`), and the loop hears of it as
it hears of everything else. No package that is kept up wraps these calls; they are four, and have not changed since
they came, but for the sync of files, which they know since Linux 4.18.

Not every machine has them: other systems do not, and where a container forbids them they fail. `Syncs.made` says None
then, and whoever wanted them does without.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from typing import Final, NoReturn, Self

NUMBERS: Final = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
"""Of io_setup, io_destroy, io_getevents and io_submit, by what the machine is called."""
REQUEST: Final = struct.Struct("<QIiHhIQQqQII")
EVENT: Final = struct.Struct("<QQqq")
FDSYNC: Final = 3
TELL_DESCRIPTOR: Final = 1
AT_ONCE: Final = 1
"""Of one file at a time: what is written meanwhile waits for the next one."""


class Syncs:
    """One at a time. `descriptor` can be read from when it is done."""

    def __init__(self, numbers: tuple[int, int, int, int]) -> None:
        """Raises OSError where the kernel does not want to."""
        setup, self._destroy, getevents, submit = map(ctypes.c_long, numbers)
        self._call = ctypes.CDLL(None, use_errno=True).syscall
        self._call.restype = ctypes.c_long
        self._context = ctypes.c_ulong(0)
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            if self._call(setup, ctypes.c_long(AT_ONCE), ctypes.byref(self._context)) < 0:
                self._fail()
        except OSError:
            os.close(self.descriptor)
            raise
        self._request = ctypes.create_string_buffer(REQUEST.size)
        self._file = -1
        """Whose sync the request is for."""
        self._requests = (ctypes.c_void_p * AT_ONCE)(ctypes.addressof(self._request))
        self._event = ctypes.create_string_buffer(EVENT.size)
        self._submit = (submit, self._context, ctypes.c_long(AT_ONCE), self._requests)
        count, nothing = ctypes.c_long(AT_ONCE), None
        self._look = (getevents, self._context, ctypes.c_long(0), count, self._event, nothing)
        self._await = (getevents, self._context, count, count, self._event, nothing)
        self._is_open = True

    @classmethod
    def made(cls) -> Self | None:
        """None where this machine has none, or no more of them."""
        numbers = NUMBERS.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 1 << 32 else None
        try:
            return cls(numbers) if numbers is not None else None
        except OSError:
            return None

    def begin(self, file: int) -> None:
        """Sync what was written to this descriptor so far. Raises OSError where it cannot be begun."""
        if file != self._file:
            REQUEST.pack_into(self._request, 0, 0, 0, 0, FDSYNC, 0, file, 0, 0, 0, 0, TELL_DESCRIPTOR, self.descriptor)
            self._file = file
        if self._call(*self._submit) < 0:
            self._fail()

    def done(self, *, wait: bool = False) -> bool:
        """Whether the one that was begun is done. Raises OSError where it has failed."""
        try:  # noqa: SIM105, which takes longer; first: the kernel has an event on its list a moment before it says so
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            pass
        look = self._await if wait else self._look
        while (found := self._call(*look)) < 0:
            if ctypes.get_errno() != errno.EINTR:
                self._fail()
        if not found:
            return False
        result = EVENT.unpack(self._event)[2]
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return True

    def _fail(self) -> NoReturn:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Waits for one that is under way."""
        if self._is_open:
            self._is_open = False
            self._call(self._destroy, self._context)
            os.close(self.descriptor)
