"""What the command refuses, with what it says and how it ends; and what goes on although somebody was refused."""

import asyncio
import signal
import ssl
import subprocess
from pathlib import Path

import pytest

from hansard.batch import build
from hansard.server.address import written
from tests.cluster.command import Started, ended, started
from tests.cluster.visitor import Visitor
from tests.server.papers import expire, papers, renew, trusting
from tests.server.trio import free_addresses, run


def refused(done: "subprocess.CompletedProcess[str]", code: int, *told: str) -> None:
    assert (done.returncode, done.stdout) == (code, ""), (done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == len(told) and all(map(str.__contains__, lines, told)), done.stderr


def listen(count: int = 1) -> list[str]:
    return [written(address) for address in free_addresses(count)]


def where(address: str) -> tuple[str, int]:
    host, _, port = address.partition(":")
    return host, int(port)


async def spoken(address: str, secure: ssl.SSLContext | None = None) -> str:
    """Who says what it is there."""
    async with await Visitor.dial(where(address), secure) as visitor:
        status = await visitor.ask(ask="status")
        return str(status["node"])


# Before anything is touched.


def test_wrong_settings_are_told_all_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    done = ended("start", tmp_path / "d", "--found", "--buckets", "x", "--shape", "ring", HANSARD_LISTN="a")
    refused(
        done,
        2,
        "hansard: buckets (--buckets): must be a whole number, not 'x'",
        "hansard: HANSARD_LISTN: there is no such setting: did you mean HANSARD_LISTEN?",
        "hansard: shape (--shape): must be star or chain, not 'ring'",
    )
    assert not list(tmp_path.iterdir())


def test_unprotected_address_is_refused(tmp_path: Path) -> None:
    done = ended("start", tmp_path / "d", "--found", "--open", "--listen", "10.0.0.1:7301")
    refused(done, 2, "10.0.0.1 can be reached by others, and there is no TLS: give --tls-cert, --tls-key and --tls-ca")


def test_check_shows_what_counts_and_starts_nothing(tmp_path: Path) -> None:
    done = ended("start", tmp_path / "d", "--found", "--check", HANSARD_ZONE="east")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["zone", "east", "HANSARD_ZONE"] in rows and ["found", "true", "--found"] in rows
    assert done.stdout.splitlines()[-1] == f"It would found a cluster of 8 buckets in {tmp_path / 'd'}."
    assert not list(tmp_path.iterdir())
    done = ended("start", tmp_path / "d", "--found", "--join", "b", "--check")
    assert done.returncode == 2 and "join (--join): excludes found" in done.stderr and "zone" not in done.stdout


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("expired", "nobody would accept it: certificate has expired"),
        ("authority", "it must be in force, of"),
        ("name", "it is for b, and not for a: give a's own"),
    ],
)
def test_certificate_that_nobody_would_accept_is_refused(tmp_path: Path, fault: str, told: str) -> None:
    certs = papers(tmp_path / "certs", "a", "b")
    if fault == "expired":
        expire(certs, "a")
    elif fault == "authority":
        (certs / "ca.pem").write_bytes((papers(tmp_path / "others", "x") / "ca.pem").read_bytes())
    name = "b" if fault == "name" else "a"
    refused(ended("start", tmp_path / "d", "--name", "a", "--found", *tls(certs, name)), 2, told)
    assert not (tmp_path / "d").exists()


def tls(certs: Path, name: str) -> list[str]:
    return ["--tls-cert", f"{certs}/{name}.pem", "--tls-key", f"{certs}/{name}.key", "--tls-ca", f"{certs}/ca.pem"]


# What is somebody else's.


def test_what_is_in_use_is_refused_and_not_disturbed(tmp_path: Path) -> None:
    here, there = listen(2)
    with started(tmp_path / "a", "--name", "a", "--found", "--open", "--listen", here) as first:
        first.ready()
        pid = first.process.pid
        for address in (here, there):
            done = ended("start", tmp_path / "a", "--listen", address)
            refused(done, 1, f"{tmp_path / 'a'} is in use by process {pid}: stop that one first, or give this one a")
        done = ended("start", tmp_path / "b", "--name", "b", "--join", here, "--listen", here)
        refused(done, 1, f"{here} is in use by another process: stop that one, or give another --listen")
        assert not (tmp_path / "b").exists()
        run(_check_alone(here))
        assert first.stop(signal.SIGTERM) == 0


async def _check_alone(address: str) -> None:
    async with await Visitor.dial(where(address)) as visitor:
        answer = await visitor.submit(0, build(["k"], ["v"]), 1)
        status = await visitor.ask(ask="status")
        assert [each["node"] for each in status["participants"]] == ["a"] and answer


def test_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    done = ended("start", tmp_path / "d", "--found", "--open", "--listen", "192.0.2.1:7301", "--insecure")
    refused(
        done, 1, "cannot listen on 192.0.2.1:7301 (Cannot assign requested address): give an address of this machine"
    )
    assert not (tmp_path / "d").exists()


def test_directory_of_another_participant_or_release_is_refused(tmp_path: Path) -> None:
    (here,) = listen()
    with started(tmp_path / "a", "--name", "a", "--found", "--open", "--listen", here) as first:
        first.ready()
        assert first.stop(signal.SIGTERM) == 0
    done = ended("start", tmp_path / "a", "--name", "b", "--listen", here)
    refused(done, 2, "the directory is a's, not b's: start it as a, or give b a directory of its own")
    identity = tmp_path / "a" / "buckets" / "identity.json"
    kept = identity.read_text()
    identity.write_text(kept.replace('"format": 1', '"format": 2'))
    done = ended("start", tmp_path / "a", "--listen", here)
    refused(done, 1, "identity.json is of format 2, and this release reads format 1: start it with the release that")
    identity.write_text(kept)
    with started(tmp_path / "a", "--listen", here) as again:
        again.ready()


# Another cluster.


def test_participant_of_another_cluster_is_told_so_on_both_sides(tmp_path: Path) -> None:
    here, there = listen(2)
    with (
        started(tmp_path / "a", "--name", "a", "--found", "--open", "--listen", here) as ours,
        started(tmp_path / "b", "--name", "b", "--found", "--open", "--listen", there) as theirs,
    ):
        ours.ready()
        theirs.ready()
        theirs.stop(signal.SIGTERM)
        with started(tmp_path / "b", "--join", here, "--listen", there) as wanting:
            for side in (wanting, ours):
                side.hear("the other side belongs to .*; a directory that belongs to one cluster joins no other")
            run(_check_alone(here))


def test_who_cannot_be_let_in_says_why(tmp_path: Path) -> None:
    """Nobody is there yet; the file of addresses is empty, and then has one."""
    here, there = listen(2)
    seeds = tmp_path / "seeds"
    words: list[str | Path] = [tmp_path / "b", "--name", "b", "--listen", there]
    with started(*words, "--join-file", seeds) as joining:
        joining.hear(f"b does not take part yet: there is no address in {seeds}")
        seeds.write_text(f"{here}\n")
        joining.hear(f"asking at {here} from now on")
        with started(tmp_path / "a", "--name", "a", "--found", "--open", "--listen", here) as founding:
            founding.ready()
            joining.ready()
    with started(tmp_path / "c", "--name", "c", "--join", here, "--listen", there) as alone:
        alone.hear(f"c does not take part yet: nobody can be reached at {here} .connection refused.")
        assert alone.stop(signal.SIGTERM) == 0
    with started(tmp_path / "c", "--found", "--open", "--listen", there) as confused:
        confused.hear("c does not take part yet: its directory was made to join a cluster, and it knows nobody")


# TLS.


def test_only_who_has_a_certificate_of_our_authority_takes_part(tmp_path: Path) -> None:
    ours, theirs = papers(tmp_path / "ours", "a", "b", "c", "d"), papers(tmp_path / "theirs", "b")
    here, *there = listen(4)
    first: list[str | Path] = [tmp_path / "a", "--name", "a", "--found", "--open", "--listen", here, *tls(ours, "a")]
    with started(*first) as founding:
        founding.ready()

        def joining(number: int, name: str, *words: str) -> list[str | Path]:
            return [tmp_path / name, "--name", name, "--join", here, "--listen", there[number], *words]

        with started(*joining(0, "b", *tls(theirs, "b"))) as stranger:
            stranger.hear("cannot speak with .*: its certificate is not accepted: ")
        with started(*joining(1, "c")) as plain:
            plain.hear("c does not take part yet: nobody can be reached at .* \\(it hangs up .*: it may want TLS")
            founding.hear("refused 127.0.0.1:.*: it does not speak TLS")
        with started(*joining(2, "d", *tls(ours, "d"))) as friend:
            friend.ready()
        run(_check_clients(here, ours, theirs, founding))


async def _check_clients(address: str, ours: Path, theirs: Path, server: Started) -> None:
    assert await spoken(address, trusting(ours)) == "a"
    assert await spoken(address, trusting(ours, "b")) == "a"
    with pytest.raises(ssl.SSLCertVerificationError):
        await spoken(address, trusting(theirs))
    showing = trusting(ours)
    showing.load_cert_chain(theirs / "b.pem", theirs / "b.key")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await spoken(address, showing)
    with pytest.raises(ConnectionError):
        await asyncio.wait_for(spoken(address), 10)  # plain, to a port with TLS
    assert server.process.poll() is None


def test_client_with_tls_at_a_port_without_is_refused(tmp_path: Path) -> None:
    (here,) = listen()
    certs = papers(tmp_path / "certs", "a")

    async def test() -> None:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.wait_for(spoken(here, trusting(certs)), 10)
        assert await spoken(here) == "a"

    with started(tmp_path / "a", "--name", "a", "--found", "--open", "--listen", here) as plain:
        plain.ready()
        run(test())
        plain.hear("ending the connection with 127.0.0.1:.*: it speaks TLS, and we do not: either both")


def test_certificates_are_changed_while_it_runs(tmp_path: Path) -> None:
    (here,) = listen()
    certs = papers(tmp_path / "certs", "a", "b")
    words: list[str | Path] = [tmp_path / "a", "--name", "a", "--found", "--open", "--listen", here]
    words += ["--tls-clients", "require", *tls(certs, "a")]

    async def test(server: Started) -> None:
        assert await spoken(here, trusting(certs, "b")) == "a"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await spoken(here, trusting(certs))
        async with await Visitor.dial(where(here), trusting(certs, "b")) as before:
            first = await serial(here, trusting(certs, "b"))
            renew(certs, "a")
            server.process.send_signal(signal.SIGHUP)
            await asyncio.to_thread(server.hear, "new certificates are used from now on")
            assert await serial(here, trusting(certs, "b")) != first
            assert (await before.ask(ask="status"))["node"] == "a"  # a connection that was there stays
        second = await serial(here, trusting(certs, "b"))
        (certs / "a.pem").write_text("half a certif")
        await asyncio.to_thread(server.hear, "the new certificates are not used: .*a.pem")
        assert await serial(here, trusting(certs, "b")) == second

    with started(*words) as server:
        server.ready()
        run(test(server))
        assert server.stop(signal.SIGTERM) == 0


async def serial(address: str, secure: ssl.SSLContext) -> str:
    _, writer = await asyncio.open_connection(*where(address), ssl=secure)
    try:
        return str(writer.get_extra_info("peercert")["serialNumber"])
    finally:
        writer.transport.abort()
