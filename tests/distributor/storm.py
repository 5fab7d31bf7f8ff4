"""A company to which everything happens in random order, from a seed; and then peace."""

from random import Random

from hansard.distributor.bucket import State
from hansard.distributor.command import (
    Achievement,
    Configure,
    Double,
    Drain,
    Grant,
    Hold,
    LetGo,
    Move,
    Names,
    Order,
    Pause,
    Release,
    Resign,
    Resume,
    Retire,
    Undrain,
    Wish,
)
from hansard.distributor.settings import Settings, Shape
from tests.distributor.company import Company

BUCKETS_MAX = 32
KINDS = ("work", "come", "go", "lie", "order", "zone", "ask", "learn")


class Storm:
    def __init__(self, seed: int, *, zones: tuple[str, ...] = ("",), wiping: bool = False) -> None:
        self.random = random = Random(seed)
        self.company = Company()
        self.keeping = Random(seed)
        """What is held and dropped is drawn by itself: the rest is what it was without it."""
        self.wall_us = 0
        self.zones = zones
        self.wiping = wiping
        """Disks are lost as well, and so are buckets, for good."""
        self.late = 0
        """Changes that were acknowledged by those who had not heard of the next government."""
        self.nodes = [f"n{number}" for number in range(1, random.randint(2, 9) + 1)]
        self.crowd = random.randint(1, len(self.nodes))
        """How many there are at most times."""
        self.eager = random.choice([0.2, 1, 5])
        """How much gets done between two mishaps."""
        for node in self.nodes[: self.crowd]:
            self.arrive(node)
        self.company.found(
            2 ** random.randint(0, 4),
            Settings(
                replication=random.choice([1, 2, 2, 3, 3, 5]),
                moves_max=random.choice([1, 1, 2, 8]),
                spares=random.choice([0, 0, 1]),
            ),
            participants=random.choice([1, 1, self.crowd]),
        )

    def arrive(self, node: str) -> None:
        disk = self.company.disks.get(node, {})
        if self.wiping and self.random.random() < 0.2:
            disk.clear()
        elif self.wiping and disk and self.random.random() < 0.1:
            del disk[self.random.choice(sorted(disk))]
        self.company.arrive(node, zone=self.random.choice(self.zones), intact=self.random.random() < 0.9)

    def rage(self, steps: int) -> None:
        for _ in range(steps):
            self._happen()
            if self.company.here:
                self._keep(self.keeping, len(self.company.distributor.buckets))

    def _happen(self) -> None:
        random, company = self.random, self.company
        buckets = len(company.distributor.buckets)
        match random.choices(KINDS, (self.eager * 8, 2, 1, 1, 1, 0.2, 1, 1))[0]:
            case "work" if buckets:
                for number in random.sample(range(buckets), random.randint(1, buckets)):
                    self._work(number)
            case "come":
                away = [node for node in self.nodes if node not in company.here]
                if away and (len(company.here) < self.crowd or random.random() < 0.2):
                    self.arrive(random.choice(away))
            case "go":
                for _ in range(random.choice([1, 1, 1, 1, 1, 2, 2, len(company.here)])):
                    if company.here:
                        company.depart(random.choice(company.here))
            case "lie" if buckets and company.here:
                number, node = random.randrange(buckets), random.choice(company.here)
                bucket = company.distributor.buckets[number]
                epoch = bucket.epoch - random.choice([0, 1, 1, 2])
                if epoch > 0 and (epoch != bucket.epoch or bucket.leader != company.member(node)):
                    company.report(number, random.choice(list(Achievement)), epoch=epoch, node=node)
            case "order" if company.here:
                company.order(self._wish(buckets))
            case "zone" if company.here:
                company.move(random.choice(company.here), random.choice(self.zones))
            case "ask" if company.here:
                node = random.choice(company.here)
                company.propose(Grant(random.randrange(100), random.randint(1, 9)), node)
                company.propose(Names(((f"name {random.randrange(5)}", 0),), random.randrange(1 << 50)), node)
                company.propose(Resign(going=random.random() < 0.5), random.choice(company.here))
            case "learn" if company.here:
                company.fork(random.choice(company.here))
            case _:
                pass

    def _keep(self, random: Random, buckets: int) -> None:
        """Somebody holds, lets go, or says what may be dropped; some by clocks that are behind."""
        company, name = self.company, f"hold {random.randrange(4)}"
        self.wall_us += random.randrange(3_000_000)
        wall_us = max(0, self.wall_us - random.choice([0, 0, 5_000_000]))
        match random.randrange(12):
            case 0:
                all_of_them = buckets * (random.random() < 0.8)  # or else most are below what is retained
                some = random.sample(range(buckets), all_of_them or random.randint(0, buckets))
                table = company.distributor
                split_off = [bucket for bucket in some if table.buckets[bucket].level]
                offsets = {bucket: max(0, table.holds.floor(bucket) + random.randint(-1, 40)) for bucket in split_off}
                company.propose(Hold(name, offsets, random.randrange(30_000_000), wall_us), random.choice(company.here))
            case 1:
                company.propose(LetGo(name, wall_us), random.choice(company.here))
            case 2 | 3 if buckets:
                floors = tuple([(random.randrange(buckets + 1), random.randrange(200)) for _ in range(3)])
                keep = company.distributor.settings.keep
                company.propose(Retire(floors, keep, wall_us), random.choice(company.here))
            case _:
                pass

    def _work(self, number: int) -> None:
        match self.random.randrange(8):
            case 0:
                self.company.achieve(number)
            case 4:
                self.company.restart(number)
            case 1:
                self.company.announce([number])
            case 2:
                self.company.write(number)
            case 5:
                self.late += self.company.write_late(number)
            case _:
                self.company.step(number)

    def _wish(self, buckets: int) -> Wish:
        random = self.random
        number = random.randrange(buckets + 1)
        wishes: list[Wish] = [
            Drain(random.choice(self.nodes)),
            Undrain(random.choice(self.nodes)),
            Undrain(random.choice(self.nodes)),
            Move(number, tuple(random.sample(self.nodes, random.randint(1, min(5, len(self.nodes)))))),
            Release(number),
            Pause(),
            Resume(),
            Resume(),
            Configure(replication=random.choice([1, 2, 3, 5])),
            Configure(shape=random.choice(list(Shape)), moves_max=random.choice([1, 2, 8])),
            Configure(spares=random.choice([0, 1, 2])),
            Double(min(BUCKETS_MAX, buckets * random.choice([2, 2, 4]))),
        ]
        return random.choice(wishes)

    def calm(self) -> None:
        """Everybody comes, what operators have changed is undone, and everything is done that is to be done."""
        company = self.company
        if not company.here:
            self.arrive(self.nodes[0])
        for node in list(company.distributor.slots.drained):
            company.order(Undrain(node))
        for number in range(len(company.distributor.buckets)):
            company.order(Release(number))
        company.order(Resume())
        for node in self.nodes:
            if node not in company.here:
                company.arrive(node, zone=self.zones[0])
        for node in list(company.here):  # twice, so that each comes with what it has
            company.settle()
            company.depart(node)
            company.arrive(node, zone=self.zones[self.nodes.index(node) % len(self.zones)])
        company.settle()

    def orders_again(self) -> None:
        """Whoever does not know whether its order came through gives it again."""
        for fact in list(self.company.facts):
            command = getattr(fact, "command", None)
            if isinstance(command, Order):
                self.company.propose(command)

    @property
    def lost(self) -> list[int]:
        return [n for n, bucket in enumerate(self.company.distributor.buckets) if bucket.state is State.LOST]
