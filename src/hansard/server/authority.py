"""Makes the certificates of a cluster: an authority of its own, for each participant one that both sides of a
connection can show, and for clients such that say what they may do (grant.py).

    ca.pem       the authority's certificate, for everybody
    ca.key       its key: whoever has it can make participants; only for making more certificates
    NAME.pem     a participant's certificate; or a client's, whose name SCOPES:NAME is SCOPES-NAME in its files'
    NAME.key     its key

Nothing that is there is ever written over. An authority that is there is used again.
"""

import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .errors import ServerError

AUTHORITY_DAYS: Final = 3650
CERTIFICATE_DAYS: Final = 365
BEFORE: Final = timedelta(hours=1)
"""They are in force a little earlier: clocks differ."""
LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class CannotMake(ServerError):
    def __init__(self, problem: str) -> None:
        super().__init__(problem)


class Wanted(NamedTuple):
    """A certificate: for whom, and the hosts at which it is dialled."""

    name: str
    hosts: tuple[str, ...] = ()
    is_client: bool = False
    """Then it is at no host, and nobody takes it for a participant."""

    @property
    def stem(self) -> str:
        """Of its files' names."""
        return self.name.replace(":", "-")


class Authority(NamedTuple):
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make(directory: Path, wanted: Sequence[Wanted], days: int = CERTIFICATE_DAYS) -> list[Path]:
    """What was written. Raises CannotMake, and has written nothing, where something is in the way."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    taken = [path for each in wanted for path in _paths(directory, each.stem) if path.exists()]
    if taken:
        raise CannotMake(
            f"{', '.join(map(str, taken))} exist already, and nothing is written over: "
            "move them away, or make new ones in another directory, with ca.pem and ca.key copied into it"
        )
    now, written = datetime.now(UTC), []
    certificate_path, key_path = _paths(directory, "ca")
    if certificate_path.exists() and key_path.exists():
        authority = _loaded(certificate_path, key_path)
    elif certificate_path.exists() or key_path.exists():
        missing = key_path if certificate_path.exists() else certificate_path
        raise CannotMake(f"{missing} is missing beside the other half of the authority: copy it there")
    else:
        authority = _authority(now)
        written += _write(directory, "ca", authority.certificate, authority.key)
    for each in wanted:
        key = ec.generate_private_key(ec.SECP256R1())
        written += _write(directory, each.stem, _certificate(authority, each, key, now, days), key)
    return written


def _paths(directory: Path, name: str) -> tuple[Path, Path]:
    return directory / f"{name}.pem", directory / f"{name}.key"


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(now: datetime, days: int) -> x509.CertificateBuilder:
    numbered = x509.CertificateBuilder().serial_number(x509.random_serial_number())
    return numbered.not_valid_before(now - BEFORE).not_valid_after(now + timedelta(days=days))


def _authority(now: datetime) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named(f"hansard {secrets.token_hex(4)}")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    built = _builder(now, AUTHORITY_DAYS).subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    built = built.add_extension(usage, critical=True)
    built = built.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return Authority(built.sign(key, hashes.SHA256()), key)


def _certificate(
    authority: Authority, wanted: Wanted, key: ec.EllipticCurvePrivateKey, now: datetime, days: int
) -> x509.Certificate:
    """For both sides: a participant dials and is dialled. A client only dials."""
    hosts = [_host(host) for host in dict.fromkeys([wanted.name, *wanted.hosts, *LOCAL])]
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if not wanted.is_client:
        purposes.insert(0, ExtendedKeyUsageOID.SERVER_AUTH)
    built = _builder(now, days).subject_name(_named(wanted.name)).issuer_name(authority.certificate.subject)
    built = built.public_key(key.public_key())
    built = built.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    if not wanted.is_client:
        built = built.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    built = built.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return built.add_extension(issuer, critical=False).sign(authority.key, hashes.SHA256())


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _loaded(certificate_path: Path, key_path: Path) -> Authority:
    try:
        certificate = x509.load_pem_x509_certificate(certificate_path.read_bytes())
        key = serialization.load_pem_private_key(key_path.read_bytes(), None)
    except (ValueError, TypeError) as error:
        raise CannotMake(f"{certificate_path} and {key_path} are no certificate and key: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise CannotMake(f"{key_path} is not the key of {certificate_path}")
    return Authority(certificate, key)


def _write(directory: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> list[Path]:
    """The key first, and for its owner only from its first moment on."""
    certificate_path, key_path = _paths(directory, name)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for path, content, mode in (
        (key_path, secret, 0o600),
        (certificate_path, certificate.public_bytes(serialization.Encoding.PEM), 0o644),
    ):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    return [certificate_path, key_path]
