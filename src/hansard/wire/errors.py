"""What can be wrong with what the other side sends. All of these end the connection; none ends the process.

WireError
├── MalformedFrame      these bytes are no frame, or no message of ours
├── FrameTooLarge       a frame, or a part of one, beyond what anybody has to take
├── NoCommonVersion     the two sides speak no version of the protocol in common
└── WrongCluster        the other side belongs to another cluster
"""


class WireError(Exception):
    pass


class MalformedFrame(WireError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class FrameTooLarge(WireError):
    def __init__(self, what: str, length: int, most: int) -> None:
        super().__init__(f"a {what} of {length} bytes; {most} is the most")
        self.length = length


class NoCommonVersion(WireError):
    def __init__(self, ours: tuple[int, int], theirs: tuple[int, int]) -> None:
        super().__init__(f"we speak versions {ours[0]} to {ours[1]}, the other side {theirs[0]} to {theirs[1]}")


class WrongCluster(WireError):
    def __init__(self, ours: str, theirs: str) -> None:
        super().__init__(
            f"this is cluster {ours}, and the other side belongs to {theirs}; "
            "a directory that belongs to one cluster joins no other"
        )
