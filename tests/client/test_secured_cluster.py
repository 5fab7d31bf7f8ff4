"""Clusters that are not open to everybody: TLS, and tokens."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hansard.client import AsyncClient, InvalidSubmission, NotReachable, Refused
from hansard.server.start import Plan
from tests.client.countdown import addresses
from tests.cluster.company import Company
from tests.cluster.test_tokens import Guarded
from tests.cluster.visitor import Visitor
from tests.server.papers import files, papers, trusting
from tests.server.trio import run


class Secured(Company):
    """With TLS between everybody."""

    @property
    def papers(self) -> Path:
        return self.directory / "papers"

    def plan(self, name: str) -> Plan:
        return replace(super().plan(name), tls=files(self.papers, name))

    async def dial(self, name: str) -> Visitor:
        return await Visitor.dial(self.addresses[name], trusting(self.papers))


class Patient(Guarded):
    """Until its first token is known everywhere."""

    async def _is_settled(self) -> bool:
        try:
            return await super()._is_settled()
        except AssertionError:
            return False


def test_a_cluster_with_tls_is_reached_by_who_trusts_its_authority(tmp_path: Path) -> None:
    async def test() -> None:
        papers(tmp_path / "papers", *"abc")
        async with Secured(tmp_path, "abc", 2) as company:
            where = addresses(company)
            async with await AsyncClient.connect(where, tls=trusting(company.papers)) as client:
                await client.submit_many([f"k{number}" for number in range(50)], ["v"] * 50)
                company.kill("b")
                await client.submit_many([f"k{number}" for number in range(50)], ["w"] * 50)
                assert len([change async for change in client.read()]) == 100
            with pytest.raises(NotReachable, match="certificate"):
                await AsyncClient.connect(where, tls=ssl.create_default_context(), timeout_s=1)
            with pytest.raises(NotReachable):
                await AsyncClient.connect(where, timeout_s=1)

    run(test(), timeout_s=120)


def test_a_token_is_worth_what_it_says(tmp_path: Path) -> None:
    async def test() -> None:
        async with Patient(tmp_path) as company:
            where = addresses(company)

            async def granted(name: str, **what: Any) -> str:
                return str((await company.ask("a", ask="grant", name=name, **what))["token"])

            acme = await granted("acme", scopes=["read", "submit"], prefixes=["acme:"])
            reader = await granted("reader", scopes=["read"])
            with pytest.raises(Refused, match="token"):
                await AsyncClient.connect(where, timeout_s=2)
            async with await AsyncClient.connect(where, token=acme) as client:
                await client.submit("k", 1, ["acme:orders"])
                await client.submit_many(["k", "l"], [2, 3], [["acme:orders"], ["acme:users"]])
                with pytest.raises(InvalidSubmission):
                    await client.submit("k", 4, ["umbrella:orders"])
                await client.submit("k", 5, ["acme:orders"])
                follow = client.follow(tags=["acme:orders"])
                assert [(await anext(follow)).json() for _ in range(3)] == [1, 2, 5]
                found = [change.json() async for change in client.read(tags=["acme:orders", "acme:users"])]
                assert sorted(found) == [1, 2, 3, 5]
                with pytest.raises(Refused):
                    await client.page(tags=["umbrella:orders"])
            async with await AsyncClient.connect(where, token=reader) as client:
                assert len([change async for change in client.read()]) == 4
                with pytest.raises(InvalidSubmission, match="token"):
                    await client.submit("k", 6, ["acme:orders"])

    run(test(), timeout_s=120)
