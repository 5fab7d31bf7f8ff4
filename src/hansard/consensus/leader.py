"""A leader: its log is the log, and everybody else's becomes the same.

An entry is committed when a majority of the council has it on disk and it is of this term: one of an earlier term that
a majority has may still be overwritten (Raft, section 5.4.2), and is committed by what follows it.
"""

from collections.abc import Sequence

from .cluster import NodeId, Peer
from .content import Arrive, Begin, Content, Council, Depart, Entry, Proposal, Upgrade
from .council import next_council
from .ledger import Ledger
from .message import Abdicate, Append, Appended, Gone, PartKept, ReadAt
from .post import Post
from .progress import Progress, Transfer
from .reads import Rounds
from .role import majority


class Leader:
    def __init__(self, me: Peer, ledger: Ledger, post: Post, now_us: int, predecessor: tuple[NodeId, int]) -> None:
        self.me = me
        self.ledger = ledger
        self.post = post
        self.settings = ledger.settings
        self.now_us = now_us
        self.began_us = now_us
        self.term = ledger.term
        self.begin = ledger.log.end
        """Where this term's entries begin."""
        self.peers: dict[Peer, Progress] = {}
        self._first = self.begin
        """Where whoever comes now is thought to be: first of all, where everybody was when the term began."""
        self._predecessor = predecessor
        """Who led before, and when it was last heard: its lease goes on from there."""
        self._looked_at: tuple[int, tuple[Peer, ...], tuple[Peer, ...]] = (-1, (), ())
        """What `peers` was made from."""
        self._dropped: list[Peer] = []
        """Those that were fed, and hear that they are gone when they are not needed any more."""
        self.rounds = Rounds()
        self.heir: Peer | None = None
        """To whom the leadership is being handed over, and until when we wait for it."""
        self.heir_until_us = 0
        self._counted: dict[Peer, tuple[int, int]] = {}
        """The last proposal of each participant that is in the log, where it is not applied yet."""
        for entry in ledger.log.entries[ledger.committed - ledger.log.start :]:
            self._count(entry.content)
        self.append(Begin())

    # Our own log.

    @property
    def open(self) -> bool:
        """An entry of this term is committed: everything that ever was is known to be."""
        return self.ledger.committed > self.begin

    def append(self, content: Content) -> None:
        self.ledger.append((Entry(self.term, content),))
        self._count(content)

    def _count(self, content: Content) -> None:
        if isinstance(content, Proposal):
            self._counted[content.proposer] = (content.session, content.number)

    def take(self, content: Content) -> None:
        """Something that somebody wants in the log. What is there, or is of no use, is left out."""
        if self.heir is not None:
            return
        roster = self.ledger.roster
        match content:
            case Proposal():
                if roster.here(content.proposer):
                    known = roster.participants[content.proposer.node]
                    session, number = max(self._counted.get(known.peer, (0, 0)), (known.session, known.number))
                    if (content.session, content.number) == (session, number + 1):
                        self.append(content)
            case Arrive():
                if not roster.refusal(content) and self._new(content):
                    self._append_once(content)
            case Depart():
                going = self._going()
                if roster.here(content.peer) and content.peer not in going and self._others_stay(content.peer, going):
                    self.append(content)
            case Upgrade():
                if roster.may_upgrade(content.rules):
                    self._append_once(content)
            case Begin() | Council():
                pass  # these are the leader's own

    def _new(self, arrive: Arrive) -> bool:
        roster = self.ledger.roster
        known = roster.participants.get(arrive.peer.node)
        if known is not None:
            return arrive.session > known.session
        return arrive.after == roster.last_incarnation(arrive.peer.node)

    def _append_once(self, content: Content) -> None:
        if content not in self._uncommitted():
            self.append(content)

    def _uncommitted(self) -> list[Content]:
        ledger = self.ledger
        return [entry.content for entry in ledger.log.entries[ledger.committed - ledger.log.start :]]

    def _going(self) -> list[Peer]:
        return [content.peer for content in self._uncommitted() if isinstance(content, Depart)]

    def _others_stay(self, peer: Peer, going: Sequence[Peer]) -> bool:
        """The last one that is heard cannot go: whoever votes could never come back, and who is not heard may have lost
        its disk. That is nothing to one that is yet to arrive."""
        roster = self.ledger.roster
        staying = [each.peer for each in roster.participants.values() if each.peer not in (*going, peer)]
        heard = any(each == self.me or self._heard(each) for each in staying)
        return heard or not (roster.here(self.me) or roster.gone(self.me))

    # The others.

    def _fed(self) -> list[Peer]:
        """Everybody who takes part and everybody who votes, departed or not. A node may be among them in two lives:
        which of them is there shows when it answers. Not those that a council which is not committed yet leaves out:
        with that entry they would be of no use to a leader that does not have it."""
        everybody = [participant.peer for participant in self.ledger.roster.participants.values()]
        fed = dict.fromkeys([*everybody, *self.ledger.log.voters])
        return [peer for peer in fed if peer.node != self.me.node]

    def attend(self) -> None:
        """Those who came are fed from now on, those who went are not."""
        log = self.ledger.log
        looked_at = (self.ledger.roster.changes, log.voters, log.voters_before(self.ledger.committed))
        if looked_at == self._looked_at:
            return
        self._looked_at = looked_at
        wanted = self._fed()
        for peer in [peer for peer in self.peers if peer not in wanted]:
            del self.peers[peer]
            self._dropped.append(peer)
        for peer in [peer for peer in self._dropped if self.ledger.released(peer)]:
            self._dropped.remove(peer)
            self.post.send(peer, Gone(peer.life, self.ledger.roster.last_incarnation(peer.node)))
        for peer in wanted:
            if peer not in self.peers:
                self.peers[peer] = progress = Progress(peer, self._first, self.now_us)
                if peer.node == self._predecessor[0]:
                    progress.heard_us = min(self.now_us, self._predecessor[1])
        self._predecessor, self._first = ("", 0), self.ledger.log.end

    def appended(self, progress: Progress, message: Appended) -> None:
        progress.heard_us = self.now_us
        progress.round = max(progress.round, message.round)
        progress.came(message.through, self.now_us)
        transfer = progress.transfer
        if transfer is not None:
            if progress.through >= min(self.ledger.log.start, transfer.snapshot.collection.end):  # it has it, or more
                progress.transfer = None
                progress.restart(progress.through, self.now_us)
        elif message.missing and message.end >= progress.through:
            next = self._common_end(message.end, message.end_term)
            # The answer to what was asked last is always before it: any other came twice, or late.
            if next < progress.asked or progress.introduced:
                progress.restart(next, self.now_us)

    def _common_end(self, end: int, term: int) -> int:
        """The last place where its log may be as ours, if the entry before `end` there is of this term."""
        log = self.ledger.log
        end = min(end, log.end)
        while end > max(log.start - 1, 0) and (log.term_before(end) or 0) > term:
            end -= 1  # it may fall below where our log begins: then only a state helps
        return end

    def part_kept(self, progress: Progress, message: PartKept) -> None:
        progress.heard_us = self.now_us
        progress.round = max(progress.round, message.round)
        transfer = progress.transfer
        if transfer is None or message.collection != transfer.snapshot.collection or message.parts == transfer.kept:
            return
        transfer.kept, progress.progress_us = message.parts, self.now_us
        if transfer.done:
            progress.transfer = None
            progress.restart(message.collection.end, self.now_us)
        else:
            self._send_part(progress, transfer)

    def advance(self) -> None:
        """Commit what a majority of the council has."""
        log, voters = self.ledger.log, self.ledger.log.voters
        ends = sorted([self._through(voter) for voter in voters], reverse=True)
        end = ends[majority(len(voters)) - 1]
        if end > self.ledger.committed and log.term_before(end) == self.term:
            self.ledger.commit(end)

    def _through(self, voter: Peer) -> int:
        if voter == self.me:
            return self.ledger.synced
        progress = self.peers.get(voter)
        return progress.through if progress is not None else 0

    # Sending.

    def pump(self) -> None:
        for progress in self.peers.values():
            self._pump(progress)

    def _pump(self, progress: Progress) -> None:
        ledger, log = self.ledger, self.ledger.log
        if progress.transfer is None and log.term_before(progress.next) is None:
            assert ledger.snapshot is not None, "what is not in the log is in the state"
            progress.transfer = Transfer(ledger.snapshot)
            progress.flight.clear()
            progress.progress_us = self.now_us
            self._send_part(progress, progress.transfer)
        if progress.transfer is None:
            flight_max = self.settings.flight_max if progress.introduced else 1
            while progress.next < log.end and len(progress.flight) < flight_max:
                entries = log.piece(progress.next, self.settings.append_entries_max, self.settings.append_bytes_max)
                start = progress.asked = progress.next
                progress.sent(start + len(entries), self.now_us)
                self._send_entries(progress, start, entries)
        if progress.commit_sent < ledger.committed and progress.introduced:
            self._send_entries(progress, max(progress.through, log.start), ())

    def _send_entries(self, progress: Progress, start: int, entries: tuple[Entry, ...]) -> None:
        term = self.ledger.log.term_before(start)
        assert term is not None
        committed = self.ledger.committed
        progress.sent_us, progress.commit_sent = self.now_us, committed
        self.post.send(progress.peer, Append(self.term, start, term, entries, committed, self.rounds.current))

    def _send_part(self, progress: Progress, transfer: Transfer) -> None:
        progress.sent_us = self.now_us
        self.post.send(progress.peer, transfer.snapshot.part(self.term, self.rounds.current, transfer.kept))

    def remind(self) -> None:
        """What is due by time: whoever heard nothing for a while, and whatever seems lost."""
        voters = self.ledger.log.voters
        for progress in self.peers.values():
            stuck = bool(progress.flight) or progress.transfer is not None or not progress.introduced
            if stuck and self.now_us - progress.progress_us >= self.settings.resend_us:
                self._again(progress)
            pause_us = self.settings.heartbeat_us
            if progress.peer not in voters:
                pause_us = max(pause_us, min(self.settings.lease_us // 3, self.settings.election_us // 2))
            if progress.sent_us < 0 or self.now_us - progress.sent_us >= pause_us:
                self._greet(progress)

    def _again(self, progress: Progress) -> None:
        progress.progress_us = self.now_us
        transfer = progress.transfer
        if transfer is not None:
            snapshot = self.ledger.snapshot
            if snapshot is not None and snapshot.collection != transfer.snapshot.collection and not transfer.kept:
                progress.transfer = transfer = Transfer(snapshot)
            self._send_part(progress, transfer)
        else:
            progress.restart(progress.through if progress.introduced else progress.next, self.now_us)
            self._greet(progress)

    def _greet(self, progress: Progress) -> None:
        """Without entries: as a question whether its log matches ours, until that is known; then where it does."""
        log = self.ledger.log
        start = progress.through if progress.introduced or progress.flight else progress.next
        if log.term_before(start) is None:
            start = log.start
        elif not progress.introduced and not progress.flight:
            progress.asked = start
        self._send_entries(progress, start, ())

    # Reading.

    def confirm(self) -> None:
        """Reads that came in this turn begin a round; those whose round a majority has answered are answered."""
        if self.rounds.begin():
            for voter in self.ledger.log.voters:
                progress = self.peers.get(voter)
                if progress is not None:
                    self._greet(progress)
        if self.rounds.waiting and self.open:
            voters = self.ledger.log.voters
            answered = sorted([self._round(voter) for voter in voters], reverse=True)
            self.rounds.answered(answered[majority(len(voters)) - 1], self.ledger.committed)

    def _round(self, voter: Peer) -> int:
        if voter == self.me:
            return self.rounds.current
        progress = self.peers.get(voter)
        return progress.round if progress is not None else 0

    def answer_reads(self) -> list[tuple[int, int]]:
        """To those who asked from elsewhere; our own are returned, with how far the machine must have come."""
        own: list[tuple[int, int]] = []
        for asker, number, end in self.rounds.done:
            if asker is None:
                own.append((number, end))
            else:
                self.post.send(asker, ReadAt(number, end))
        self.rounds.done.clear()
        return own

    # Watching over the others.

    def heard_majority(self) -> bool:
        voters = self.ledger.log.voters
        heard = [voter for voter in voters if voter == self.me or self._heard(voter)]
        return len(heard) >= majority(len(voters))

    def _heard(self, peer: Peer) -> bool:
        progress = self.peers.get(peer)
        return progress is not None and self.now_us - progress.heard_us < self.settings.election_us

    def forgive(self, missed_us: int) -> None:
        """We were not listening for a while: nobody is to blame for not being heard."""
        self.began_us += missed_us
        for progress in self.peers.values():
            progress.heard_us += missed_us

    def watch_leases(self) -> None:
        """Only a leader that could commit it proposes that somebody else is gone."""
        for participant in self.ledger.roster.participants.values():
            peer = participant.peer
            progress = self.peers.get(peer)
            heard_us = progress.heard_us if progress is not None else self.began_us
            if peer != self.me and self.now_us - heard_us >= self.settings.lease_us:
                self.take(Depart(peer))

    def keep_council(self) -> None:
        """One voter more or less, once an entry of this term is committed (Ongaro's correction of 2015), and never
        while another such change is under way."""
        log, committed = self.ledger.log, self.ledger.committed
        if not self.open or self.heir is not None or (log.councils and log.councils[-1][0] >= committed):
            return
        roster = self.ledger.roster
        if not roster.here(self.me) and not roster.gone(self.me):  # a founder that is yet to arrive
            return
        near = log.end - self.settings.promote_entries
        caught_up = [self.me]
        caught_up += [
            progress.peer
            for progress in self.peers.values()
            if progress.introduced and progress.through >= near and self._heard(progress.peer)
        ]
        voters = next_council(log.voters, roster.participants, caught_up, self.me)
        if voters is None or not self._answers([voter for voter in voters if voter not in log.voters]):
            return
        # It counts from the moment it is appended: without a majority it could not even be taken back.
        able = [voter for voter in voters if self._through(voter) >= committed]
        heard = [voter for voter in able if voter == self.me or self._heard(voter)]
        if len(heard) >= majority(len(voters)):
            self.append(Council(voters))

    def _answers(self, newcomers: list[Peer]) -> bool:
        """Whether they were heard just now; if not, they are asked. One that has died since would be missed at once: of
        two voters both are a majority."""
        silent = [self.peers[peer] for peer in newcomers if peer in self.peers]
        silent = [each for each in silent if self.now_us - each.heard_us >= 2 * self.settings.heartbeat_us]
        for progress in silent:
            self._greet(progress)
        return not silent

    # Handing over.

    def hand_over(self, node: NodeId) -> None:
        """To this one, or to whoever has come furthest; given up if it takes longer than an election."""
        candidates = [self.peers[voter] for voter in self.ledger.log.voters if self._heard(voter)]
        if node:
            candidates = [progress for progress in candidates if progress.peer.node == node]
        if self.heir is None and candidates:
            best = max(candidates, key=lambda progress: progress.through)
            self.heir, self.heir_until_us = best.peer, self.now_us + self.settings.election_us

    def help_heir(self) -> None:
        if self.heir is None:
            return
        progress = self.peers.get(self.heir)
        if progress is None or self.now_us >= self.heir_until_us:
            self.heir = None
        elif progress.through == self.ledger.log.end:
            self.post.send(self.heir, Abdicate(self.term))
