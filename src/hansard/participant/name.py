"""How a member of a government is called in its bucket: phasers only compare names."""

from functools import lru_cache

from hansard.distributor.member import Member
from hansard.phaser.government import NodeId


@lru_cache(4096)
def named(member: Member) -> NodeId:
    return str(member)


@lru_cache(4096)
def node_of(name: NodeId) -> str:
    return name.rpartition("#")[0]
