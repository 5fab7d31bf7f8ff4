"""A world made from a seed: participants, network, disks, clients, and a nemesis that spoils everything."""
