"""The parts that a participant can have in a term."""

from enum import StrEnum


class Role(StrEnum):
    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    """Asks to be elected, or whether it would be."""
    LEADER = "leader"


def majority(voters: int) -> int:
    return voters // 2 + 1
