"""What every atomic log does: the suite that any implementation of `AtomicLog` passes.

Each test is on a fresh cluster (`harness.py`); `test_conformance.py` runs all of them on each implementation.
"""

from hansard.consensus.content import Arrived, Departed, Moved, Proposed, Upgraded
from hansard.consensus.effect import Applied, Departing, Left, Outdated, Refused, Restored, Settled
from hansard.consensus.event import Leave, Raise
from hansard.consensus.settings import Settings
from tests.consensus.harness import PATIENT, SMALL, Trial, about, proposed


class Conformance(Trial):
    # One sequence.

    def test_everybody_is_told_the_same(self) -> None:
        cluster = self.formed("a b c")
        for node in "abc":
            self.propose(cluster, node, *[b"%s%d" % (node.encode(), number) for number in range(5)])
        cluster.until(lambda: all(len(proposed(cluster.facts(node))) == 15 for node in "abc"))
        facts = self.agree(cluster, "a b c")
        indexes = [index for index, _ in facts]
        assert indexes == sorted(set(indexes))
        for node in "abc":
            told = [(e.index, e.fact) for e in cluster.effects(node) if isinstance(e, Applied) and e.fact is not None]
            assert told == facts[-len(told) :]
            assert len(told) >= 15

    def test_indexes_have_no_gaps(self) -> None:
        cluster = self.formed("a b")
        self.settle(cluster, "b", b"1", b"2", b"3")
        for node in "ab":
            indexes = [effect.index for effect in cluster.effects(node) if isinstance(effect, Applied)]
            assert indexes == list(range(indexes[0], indexes[-1] + 1))

    def test_one_alone_is_a_cluster(self) -> None:
        cluster = self.formed("a")
        self.settle(cluster, "a", b"1", b"2")
        assert cluster.facts("a")[0][1] == Arrived("a", 1, "a:1", "", b"")
        assert proposed(cluster.facts("a")) == [b"1", b"2"]

    # Once, in order.

    def test_proposals_of_any_participant_come_once_and_in_its_order(self) -> None:
        cluster = self.formed("a b c d")
        wanted = {node: [b"%s%d" % (node.encode(), number) for number in range(30)] for node in "abcd"}
        for number in range(0, 30, 3):
            for node in "abcd":
                self.propose(cluster, node, *wanted[node][number : number + 3])
            cluster.run(0.003)
        cluster.until(lambda: len(proposed(cluster.facts("a"))) == 120)
        cluster.run(2)
        facts = self.agree(cluster, "a b c d")
        assert {node: proposed(facts, node) for node in "abcd"} == wanted

    def test_what_is_proposed_before_one_takes_part_is_told_afterwards(self) -> None:
        cluster = self.formed("a")
        cluster.add("b")
        self.settle(cluster, "b", b"early", b"bird")
        assert proposed(cluster.facts("b"), "b") == [b"early", b"bird"]

    def test_settled_is_said_when_the_machine_was_told_and_once(self) -> None:
        cluster = self.formed("a b c")
        (id,) = self.propose(cluster, "c", b"x")
        assert Settled(id) not in cluster.effects("c") or proposed(cluster.facts("c")) == [b"x"]
        cluster.until(lambda: Settled(id) in cluster.effects("c"))
        assert proposed(cluster.facts("c")) == [b"x"]
        cluster.run(2)
        assert cluster.effects("c").count(Settled(id)) == 1

    def test_proposals_outlast_being_cut_off(self) -> None:
        cluster = self.formed("a b c", PATIENT)
        for node in "abc":
            cluster.cut(node)
            ids = self.propose(cluster, node, b"1 of " + node.encode(), b"2 of " + node.encode())
            cluster.run(1.5)
            assert not [id for id in ids if Settled(id) in cluster.effects(node)]
            cluster.heal(node)
            self.await_settled(cluster, node, ids)
        cluster.run(1)
        facts = self.agree(cluster, "a b c")
        assert proposed(facts) == [b"%d of %s" % (number, node) for node in (b"a", b"b", b"c") for number in (1, 2)]

    def test_proposals_outlast_a_departure(self) -> None:
        """They are told as of the next incarnation, and those that counted in the one before are not told again."""
        cluster = self.formed("a b c d")
        self.settle(cluster, "d", b"before")
        cluster.cut("d")
        ids = self.propose(cluster, "d", b"meanwhile", b"and on")
        cluster.until(lambda: Departed("d", 1) in about(cluster.facts("b"), "d"))
        cluster.heal("d")
        cluster.until(lambda: all(Settled(id) in cluster.effects("d") for id in ids))
        cluster.run(1)
        facts = [fact for _, fact in self.agree(cluster, "a b c d") if isinstance(fact, Proposed)]
        assert facts == [Proposed("d", 1, b"before"), Proposed("d", 2, b"meanwhile"), Proposed("d", 2, b"and on")]

    def test_after_a_crash_the_next_process_proposes_anew(self) -> None:
        """What the one before had proposed is told or not; never after something that the new one has settled."""
        cluster = self.formed("a b c", PATIENT)
        for node in "abc":
            self.propose(cluster, node, b"unknown")
            cluster.crash(node)
            cluster.restart(node)
            self.settle(cluster, node, b"new")
            self.settle(cluster, node, b"newer")
        cluster.run(1)
        facts = self.agree(cluster, "a b c")
        for node in "abc":
            assert proposed(facts, node) in ([b"unknown", b"new", b"newer"], [b"new", b"newer"])

    # Catching up.

    def test_one_that_was_cut_off_learns_what_it_has_missed(self) -> None:
        cluster = self.formed("a b c d", PATIENT)
        cluster.cut("d")
        self.settle(cluster, "a", b"1", b"2", b"3")
        cluster.run(1)
        assert proposed(cluster.facts("d")) == []
        cluster.heal("d")
        assert proposed(self.agree(cluster, "d a b c")) == [b"1", b"2", b"3"]
        assert not any(isinstance(effect, Restored) for effect in cluster.effects("d")[10:])

    def test_one_that_has_missed_too_much_gets_the_state(self) -> None:
        cluster = self.formed("a b c d", PATIENT)
        cluster.cut("d")
        contents = [b"%d" % number for number in range(200)]
        self.settle(cluster, "a", *contents)
        cluster.heal("d")
        cluster.until(lambda: proposed(cluster.facts("d")) == contents)
        assert any(isinstance(effect, Restored) for effect in cluster.effects("d"))
        assert self.agree(cluster, "a b c d") == cluster.facts("d")
        self.settle(cluster, "d", b"and it goes on")

    def test_one_that_comes_late_gets_the_state(self) -> None:
        cluster = self.formed("a b c", SMALL)
        contents = [b"%d" % number for number in range(200)]
        self.settle(cluster, "b", *contents)
        cluster.add("d")
        self.arrived(cluster, "a b c d", "d")
        cluster.until(lambda: proposed(cluster.facts("d")) == contents)
        self.settle(cluster, "d", b"mine")
        assert self.agree(cluster, "a b c d")

    def test_a_proposal_that_is_in_the_state_is_settled(self) -> None:
        """Its proposer is cut off in the moment that it has gone out, and hears of it by the state only, or by nothing:
        whichever, it is told once."""
        cluster = self.formed("a b c d", PATIENT)
        (id,) = self.propose(cluster, "d", b"mine")
        cluster.run(0.0008)
        cluster.cut("d")
        self.settle(cluster, "a", *[b"%d" % number for number in range(200)])
        cluster.heal("d")
        cluster.until(lambda: Settled(id) in cluster.effects("d"))
        cluster.run(1)
        assert proposed(self.agree(cluster, "a b c d")).count(b"mine") == 1

    def test_a_process_that_restarts_knows_all_again(self) -> None:
        cluster = self.formed("a b c", Settings(compact_entries=40, keep_entries=10, lease_us=5_000_000))
        self.settle(cluster, "a", *[b"%d" % number for number in range(100)])
        for node in "abc":
            cluster.crash(node)
            cluster.restart(node)
            self.settle(cluster, node, b"of " + node.encode())
        facts = self.agree(cluster, "a b c")
        assert proposed(facts) == [*[b"%d" % number for number in range(100)], b"of a", b"of b", b"of c"]
        assert [about(facts, node) for node in "abc"] == [[Arrived(node, 1, f"{node}:1", "", b"")] for node in "abc"]

    # Reading.

    def test_a_read_sees_what_was_settled_anywhere(self) -> None:
        cluster = self.formed("a b c d")
        for number, node in enumerate("abcd"):
            self.settle(cluster, node, b"%d" % number)
            for reader in "abcd":
                answer = self.await_answer(cluster, reader, self.read(cluster, reader))
                assert b"%d" % number in proposed(cluster.facts(reader))
                assert answer.end > cluster.facts(reader)[-1][0]

    def test_a_read_of_one_that_is_cut_off_waits(self) -> None:
        cluster = self.formed("a b c", PATIENT)
        for node, other in ("ab", "bc", "ca"):
            cluster.cut(node)
            cluster.run(1)
            self.settle(cluster, other, b"beside " + node.encode())
            id = self.read(cluster, node)
            cluster.run(1)
            assert self.answer(cluster, node, id) is None
            cluster.heal(node)
            self.await_answer(cluster, node, id)
            assert b"beside " + node.encode() in proposed(cluster.facts(node))

    # Coming and going.

    def test_an_arrival_says_what_the_participant_is(self) -> None:
        cluster = self.formed("a")
        cluster.add("b", address="host:9", zone="west", inventory=b"things")
        self.arrived(cluster, "a b", "b")
        assert about(cluster.facts("a"), "b") == [Arrived("b", 1, "host:9", "west", b"things")]

    def test_one_joins_through_any_participant(self) -> None:
        cluster = self.formed("a b c")
        for new, through in ("da", "eb", "fc", "gf"):
            cluster.add(new, through=through)
            self.arrived(cluster, "a b c " + new, new)
        assert self.agree(cluster, "a b c d e f g")

    def test_eight_arrive_at_once(self) -> None:
        cluster = self.formed("a b")
        for number in range(8):
            cluster.add(f"n{number}", through="b")
        names = " ".join(f"n{number}" for number in range(8))
        for number in range(8):
            self.arrived(cluster, f"a b {names}", f"n{number}")
        self.settle(cluster, "n7", b"hello")
        facts = self.agree(cluster, f"a b {names}")
        assert all(len(about(facts, node)) == 1 for node in names.split())

    def test_another_address_is_a_move(self) -> None:
        cluster = self.formed("a b c d")
        for node in "abcd":
            cluster.crash(node)
            cluster.restart(node, address=f"{node}:2")
            self.settle(cluster, node, b"from there")
            assert Moved(node, 1, f"{node}:2", "") in about(cluster.facts(node), node)
        facts = self.agree(cluster, "a b c d")
        assert [len(about(facts, node)) for node in "abcd"] == [2, 2, 2, 2]

    def test_nobody_departs_who_is_there(self) -> None:
        cluster = self.formed("a b c d e f")
        cluster.run(20)
        facts = self.agree(cluster, "a b c d e f")
        assert [fact for _, fact in facts if not isinstance(fact, Arrived)] == []

    def test_one_that_is_away_too_long_departs_and_arrives_again(self) -> None:
        cluster = self.formed("a b c d")
        for node, other in ("ab", "bc", "cd", "da"):
            cluster.cut(node)
            self.await_departed(cluster, node, at=other)
            assert not any(isinstance(effect, Departing) for effect in cluster.effects(node))
            cluster.heal(node)
            self.arrived(cluster, "a b c d", node, incarnation=2)
            assert len([effect for effect in cluster.effects(node) if isinstance(effect, Departing)]) == 1
        cluster.run(3)
        facts = self.agree(cluster, "a b c d")
        for node in "abcd":
            first, second = Arrived(node, 1, f"{node}:1", "", b""), Arrived(node, 2, f"{node}:1", "", b"")
            assert about(facts, node) == [first, Departed(node, 1), second]

    def test_one_that_was_down_too_long_departs_and_arrives_again(self) -> None:
        cluster = self.formed("a b c")
        for node, other in ("ab", "bc", "ca"):
            cluster.crash(node)
            self.await_departed(cluster, node, at=other)
            cluster.restart(node)
            self.arrived(cluster, "a b c", node, incarnation=2)
            self.settle(cluster, node, b"here again")

    def test_one_that_is_down_for_a_moment_does_not_depart(self) -> None:
        cluster = self.formed("a b c", Settings(lease_us=2_000_000))
        for node in "abc":
            cluster.crash(node)
            cluster.run(0.5)
            cluster.restart(node)
            cluster.run(3)
        facts = self.agree(cluster, "a b c")
        assert [fact for _, fact in facts if not isinstance(fact, Arrived)] == []

    def test_one_without_its_disk_waits_until_its_former_life_has_departed(self) -> None:
        cluster = self.formed("a b c", Settings(lease_us=2_000_000))
        cluster.wipe("c")
        cluster.restart("c")
        cluster.until(lambda: any(isinstance(effect, Refused) for effect in cluster.effects("c")))
        assert Departed("c", 1) not in about(cluster.facts("a"), "c")
        self.arrived(cluster, "a b c", "c", incarnation=2)
        assert [type(fact) for fact in about(cluster.facts("a"), "c")] == [Arrived, Departed, Arrived]

    def test_one_that_leaves_is_gone_and_does_not_come_back(self) -> None:
        cluster = self.formed("a b c d")
        for node, other in ("db", "ab"):
            cluster.happen(node, Leave(node))
            self.await_departed(cluster, node, at=other)
            cluster.run(3)
            said = [effect for effect in cluster.effects(node) if isinstance(effect, Departing | Left)]
            assert [type(effect) for effect in said] == [Departing, Left]
            assert len(about(cluster.facts(other), node)) == 2
            cluster.crash(node)
            self.settle(cluster, other, b"on without " + node.encode())
        self.agree(cluster, "b c")

    def test_one_that_is_given_up_by_another_is_gone(self) -> None:
        cluster = self.formed("a b c d", PATIENT)
        cluster.crash("d")
        cluster.run(2)
        assert len(about(cluster.facts("b"), "d")) == 1
        cluster.happen("b", Leave("d"))
        cluster.until(lambda: Departed("d", 1) in about(cluster.facts("b"), "d"))
        cluster.restart("d")
        self.arrived(cluster, "a b c d", "d", incarnation=2)

    # Rules.

    def test_rules_are_raised_when_everybody_knows_them(self) -> None:
        cluster = self.formed("a b c", PATIENT, rules_max=2)
        cluster.add("d", rules_max=1)
        self.arrived(cluster, "a b c d", "d")
        cluster.happen("b", Raise(2))
        self.settle(cluster, "b", b"that was for nothing")
        cluster.crash("d")
        cluster.restart("d", rules_max=3)
        self.settle(cluster, "d", b"newer")
        cluster.happen("b", Raise(2), Raise(3))
        cluster.until(lambda: Upgraded(2) in [fact for _, fact in cluster.facts("c")])
        cluster.run(1)
        facts = [fact for _, fact in self.agree(cluster, "a b c d")]
        assert [fact for fact in facts if isinstance(fact, Upgraded)] == [Upgraded(2)]

    def test_one_that_does_not_know_the_rules_stops(self) -> None:
        cluster = self.formed("a b c", rules_max=2)
        cluster.happen("a", Raise(2))
        cluster.until(lambda: Upgraded(2) in [fact for _, fact in cluster.facts("a")])
        self.settle(cluster, "a", b"by the new rules")
        cluster.crash("c")
        cluster.restart("c", rules_max=1)
        cluster.until(lambda: Outdated(2) in cluster.effects("c"))
        cluster.run(2)
        assert b"by the new rules" not in proposed(cluster.facts("c"))
        cluster.crash("c")
        cluster.restart("c", rules_max=2)
        cluster.until(lambda: b"by the new rules" in proposed(cluster.facts("c")))
