"""Whole clusters from seeds: participants as they are, on simulated networks, disks and clocks, with clients, operators
and a nemesis."""
