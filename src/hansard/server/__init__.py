"""The shell around the cores: sockets, disks, threads and clocks. It does what a core wants, and decides nothing.

    node.py        one task owns the phasers; what happens in one turn of the loop is handled together
    journal.py     the thread that writes and syncs, with one sync for all that waits
    connection.py  frames over a socket, from whoever comes in
    link.py        the way to another participant, dialled again whenever it is lost
    asker.py       a client's connection: its submissions come in, the receipts of a turn go back in one frame
    disk.py        a directory opened as this participant's, and what a phaser finds there
    skeleton.py    a participant whose government comes from its command line

The way of a submission: connection -> asker -> node, which hands the events of this turn to the phaser -> its effects:
one group for the journal, one frame for each link. What comes back, from the disk and from the links, takes the same
way in, until the phaser answers: then the asker sends the receipt.
"""
