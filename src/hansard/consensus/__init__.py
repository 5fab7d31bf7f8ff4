"""The atomic log: the one log of the whole cluster, agreed on by Raft, as a core without IO.

Events in, effects out, as the phaser: whoever runs it calls `Consensus.turn` with what has happened and carries out
what it returns. What is on top of it is a `Machine`.
"""
