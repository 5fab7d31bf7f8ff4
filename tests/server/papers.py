"""Certificates for tests: a cluster's own, another authority's, and expired ones."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from hansard.server import authority
from hansard.server.authority import Wanted, make
from hansard.server.tls import Files


def papers(directory: Path, *names: str) -> Path:
    """Those with a colon in their names are clients'."""
    make(directory, [Wanted(name, is_client=":" in name) for name in names])
    return directory


def files(directory: Path, name: str, *, clients_required: bool = False) -> Files:
    return Files(
        certificate=directory / f"{name}.pem",
        key=directory / f"{name}.key",
        authority=directory / "ca.pem",
        clients_required=clients_required,
    )


def expire(directory: Path, name: str, *, ago: timedelta = timedelta(days=1)) -> None:
    """Another certificate in the place of this one, of the same authority, that was good once."""
    certificate_path, key_path = directory / f"{name}.pem", directory / f"{name}.key"
    own = authority._loaded(directory / "ca.pem", directory / "ca.key")
    key = authority._loaded(certificate_path, key_path).key
    made = authority._certificate(own, Wanted(name), key, datetime.now(UTC) - ago - timedelta(days=1), 1)
    certificate_path.write_bytes(made.public_bytes(Encoding.PEM))


def renew(directory: Path, name: str) -> None:
    """As somebody does who looks after a cluster: new files beside the old ones, and then in their place."""
    fresh = directory / "fresh"
    fresh.mkdir(exist_ok=True)
    for part in ("ca.pem", "ca.key"):
        (fresh / part).write_bytes((directory / part).read_bytes())
    make(fresh, [Wanted(name)])
    for part in (f"{name}.key", f"{name}.pem"):
        (fresh / part).replace(directory / part)


def trusting(directory: Path, name: str = "") -> ssl.SSLContext:
    """A client that knows the authority, and shows a certificate if it has a name."""
    context = ssl.create_default_context(cafile=directory / "ca.pem")
    if name:
        context.load_cert_chain(directory / f"{name}.pem", directory / f"{name}.key")
    return context
