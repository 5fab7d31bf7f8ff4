"""Tenants of a platform, who push changes all the time: entitlements, the state of devices, configuration."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from hansard.client import AsyncClient
from hansard.client.errors import ClientError

from .audit import Audit

BATCH: Final = 20
PACE_S: Final = 0.03
PLANS: Final = ("free", "team", "pro", "enterprise")
FLAGS: Final = ("dark-mode", "new-checkout", "beta-search", "audit-log", "sso")
TIMEOUT_S: Final = 30.0


class Drafted(NamedTuple):
    key: str
    value: Mapping[str, Any]
    tags: Sequence[str]


def entitlement(random: Random) -> Drafted:
    user = random.randrange(200)
    value = {"plan": random.choice(PLANS), "seats": random.randrange(1, 50)}
    return Drafted(f"acme/user/{user}", value, ["tenant:acme", "kind:entitlement"])


def device(random: Random) -> Drafted:
    charge = random.randrange(101)
    tags = ["tenant:umbrella", "kind:device", *(["alarm"] if charge < 5 else [])]
    value = {"charge": charge, "celsius": round(random.gauss(21, 4), 1)}
    return Drafted(f"umbrella/device/{random.randrange(500):03}", value, tags)


def configuration(random: Random) -> Drafted:
    value = {"enabled": random.random() < 0.5, "percent": random.choice([1, 5, 25, 100])}
    return Drafted(f"initech/flag/{random.choice(FLAGS)}", value, ["tenant:initech", "kind:configuration"])


TENANTS: Final = {"acme": entitlement, "umbrella": device, "initech": configuration}


class Tenant:
    """Submits until it is told to stop. In each key it counts up, so that a reader can tell what is missing."""

    def __init__(self, name: str, addresses: Sequence[str], audit: Audit) -> None:
        self.name = name
        self.audit = audit
        self._addresses = addresses
        self._random = Random(name)
        self._numbers: Counter[str] = Counter()
        self._generations: Counter[str] = Counter()
        self.doubtful = 0
        """Submissions of which nobody knows what has become: their keys are not gone on with."""
        self.longest_s = 0.0
        """That a submission took, since this was last set to 0."""
        self.going = True

    async def run(self) -> None:
        async with await AsyncClient.connect(self._addresses, timeout_s=TIMEOUT_S) as client:
            while self.going:
                await self._submit(client)
                await asyncio.sleep(PACE_S)

    async def _submit(self, client: AsyncClient) -> None:
        drafts = [TENANTS[self.name](self._random) for _ in range(BATCH)]
        keys = [self._key(draft.key) for draft in drafts]
        numbers = []
        for key in keys:
            numbers.append(self._numbers[key])
            self._numbers[key] += 1
        values = [{"n": number, **draft.value} for number, draft in zip(numbers, drafts, strict=True)]
        began_s = time.monotonic()
        try:
            await client.submit_many(keys, values, [draft.tags for draft in drafts])
        except ClientError:
            self.doubtful += 1
            self._generations.update({draft.key for draft in drafts})
            return
        finally:
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
        for key, number in zip(keys, numbers, strict=True):
            self.audit.acknowledge(key, number)

    def _key(self, key: str) -> str:
        generation = self._generations[key]
        return f"{key}.{generation}" if generation else key
