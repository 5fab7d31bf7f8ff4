"""The atomic log in a simulated world: participants, disks, proposals, oracles, and a nemesis."""
