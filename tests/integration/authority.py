"""A certificate authority of a test's own, and the certificates that it gives."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from wow_ray.adapters.clock import SystemClock


class Authority:
    """Signs for whom it is asked to; nobody's machine believes it."""

    def __init__(self, folder: Path) -> None:
        """Make it; its certificate is the file `ca_file`."""
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of a test")])
        made = self._certificate(self._name, self._key.public_key(), x509.BasicConstraints(ca=True, path_length=0))
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(made)

    def server_of(self, name: str) -> ssl.SSLContext:
        """Give what a server of that name needs to prove it."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        proof = self._certificate(subject, key.public_key(), x509.SubjectAlternativeName([x509.DNSName(name)]))
        file = self._folder / f"{name}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.write_bytes(private + proof)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _certificate(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, extension: x509.ExtensionType) -> bytes:
        now = SystemClock().now()
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self._key, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM)
