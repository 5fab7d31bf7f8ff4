"""Why a participant cannot start, or cannot go on: each says what to do next.

ServerError
├── PortInUse         somebody listens there already
├── NoSuchAddress     this machine does not have it
├── BadCertificates   with these nobody would speak to it
├── BadDirectory      it is in use, or another participant's, or of another release
├── AtomicLogDamaged  what it has promised to others cannot be read
└── CopiesDamaged     nobody can say which copies of buckets it has
"""

from .address import Address, written


class ServerError(Exception):
    """Any of these."""


class PortInUse(ServerError):
    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.address = address

    def __str__(self) -> str:
        return f"{written(self.address)} is in use by another process: stop that one, or give another --listen"


class NoSuchAddress(ServerError):
    def __init__(self, address: Address, problem: str) -> None:
        super().__init__(address, problem)
        self.address, self.problem = address, problem

    def __str__(self) -> str:
        return (
            f"cannot listen on {written(self.address)} ({self.problem}): give an address of this machine as --listen, "
            "and the one at which others reach it as --advertise"
        )


class BadCertificates(ServerError):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class BadDirectory(ServerError):
    def __init__(self, problem: str) -> None:
        super().__init__(problem)


class AtomicLogDamaged(ServerError):
    def __init__(self, damage: str) -> None:
        super().__init__(damage)

    def __str__(self) -> str:
        return (
            f"the atomic log is damaged: {self.args[0]}. If others take part in the cluster, run `hansard recover "
            "--rejoin` on this directory and start the participant again with --join: it gets the log from them, and "
            "keeps its copies of buckets"
        )


class CopiesDamaged(ServerError):
    def __init__(self, damage: str) -> None:
        super().__init__(damage)

    def __str__(self) -> str:
        return (
            f"the copies of buckets cannot be opened: {self.args[0]}. Move the folder `buckets` of this directory to "
            "another place and start the participant again: it gets from others what they have"
        )
