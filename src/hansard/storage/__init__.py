"""What a participant keeps on disk: the journal, segments, their index, and recovery after a crash.

Everything here reaches the disk through the seam in `disk`, so that the simulator can run the same code on a
disk that crashes, tears writes and fills up. Imports: batch.
"""
