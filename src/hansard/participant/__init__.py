"""One node of a cluster, without IO: the atomic log, the distributor on it, a phaser for each bucket that is here, and
the ways of submissions and reads to where they belong.

`participant.py` is the whole of it: events in, effects out. A shell runs it on sockets and files, the simulator on a
network, disks and clocks of its own.
"""
