"""How a member of a government is called in its bucket: phasers only compare names."""

from hansard.distributor.member import Member
from hansard.phaser.government import NodeId


def named(member: Member) -> NodeId:
    return str(member)


def node_of(name: NodeId) -> str:
    return name.rpartition("#")[0]
