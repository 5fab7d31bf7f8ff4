"""A disk for a test: real files that nobody syncs.

A participant that is killed loses what it had not written, here as elsewhere, and finds again what it had: the system
keeps that. What syncing is for is a machine that loses its power, and no test that is still running has seen one.
"""

from hansard.storage.disk import RealDisk, RealFile


class ScratchFile(RealFile):
    __slots__ = ()

    @property
    def descriptor(self) -> None:
        return None

    def sync(self) -> None:
        """Nothing is made durable that is thrown away in a moment."""


class Scratch(RealDisk):
    file = ScratchFile

    def make_folder(self, path: str) -> None:
        (self._root / path).mkdir(parents=True, exist_ok=True)

    def sync_folder(self, path: str) -> None:
        """The same."""
