"""A client's certificate stands for a token, and for nothing else: nobody takes part with it."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hansard.cli.main import app
from hansard.server.tls import Unconfirmed, confirm
from hansard.wire import submission
from hansard.wire.frame import FrameReader
from hansard.wire.handshake import Hello, Role, greeting

from .guarded import Guarded, is_refused
from .papers import files, papers, trusting
from .test_access import change
from .trio import run


def test_a_certificate_allows_what_its_name_says(tmp_path: Path) -> None:
    certs = papers(tmp_path / "certs", "a", "b", "admin:ops", "read+submit:etl", "read:bob")

    async def test() -> None:
        async with Guarded(tmp_path, files(certs, "a")) as guarded:
            async with await guarded.dial(certificate="admin-ops") as ops:
                assert (await ops.ask(ask="status"))["open"] is False
                assert is_refused(await ops.read(0, 0)) and is_refused(await ops.submit(0, change("x"), 1))
                token = (await ops.ask(ask="grant", name="lost", scopes=["admin"]))["token"]
            async with await guarded.dial(token, "read-bob") as both:
                assert (await both.ask(ask="tokens"))["tokens"], "who shows both is known by its token"
            async with await guarded.dial("hsd_" + "0" * 55, "admin-ops") as both:
                assert is_refused(await both.exchange({"ask": "status"})), "and by nothing else"
            async with await guarded.dial(certificate="read+submit-etl") as etl:
                assert isinstance(await etl.submit(0, change("x"), 1), submission.Stored)
                assert not is_refused(await etl.read(0, 0)) and is_refused(await etl.exchange({"ask": "tokens"}))
            for name in ("", "b"):  # a participant's is for taking part
                async with await guarded.dial(certificate=name) as nobody:
                    assert is_refused(await nobody.read(0, 0)) and is_refused(await nobody.exchange({"ask": "table"}))

    run(test())


def test_nobody_takes_part_with_a_clients_certificate(tmp_path: Path) -> None:
    certs = papers(tmp_path / "certs", "a", "admin:ops")

    async def test() -> None:
        async with Guarded(tmp_path, files(certs, "a")) as guarded:
            for name in ("admin:ops", "a", "ops"):
                secure = trusting(certs, "admin-ops")
                reader, writer = await asyncio.open_connection(*guarded.address, ssl=secure)
                writer.writelines(greeting(Hello(Role.PARTICIPANT, guarded.access._core().consensus.cluster.id, name)))
                frames = FrameReader()
                while data := await reader.read(1 << 16):  # until it hangs up
                    assert len(list(frames.feed(data))) <= 1, "it says hello, and nothing more"
                writer.close()

    run(test())
    with pytest.raises(Unconfirmed):
        confirm({"subject": ((("commonName", "admin:ops"),),)}, "admin:ops")


def test_certificates_for_clients_are_made_by_the_command(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["certs", "make", str(tmp_path), "--name", "a", "--client", "read+submit:etl"])
    assert made.exit_code == 0 and f"wrote {tmp_path / 'read+submit-etl.pem'}" in made.output
    more = CliRunner().invoke(app, ["certs", "make", str(tmp_path), "--client", "admin:ops", "--days", "7"])
    assert more.exit_code == 0 and (tmp_path / "admin-ops.key").stat().st_mode & 0o077 == 0
    for wrong in (["--client", "root:x"], ["--client", "admin"], [], ["--name", "a:b"]):
        refused = CliRunner().invoke(app, ["certs", "make", str(tmp_path / "other"), *wrong])
        assert refused.exit_code == 2, wrong
