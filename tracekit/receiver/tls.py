"""The certificate that a server shows on all its ports."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import UsageError


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files in PEM: the certificate with its chain, and its private key without a password."""

    cert_path: Path
    key_path: Path

    @classmethod
    def of(cls, cert_path: Path | None, key_path: Path | None) -> Certificate | None:
        """The certificate in these files; None where neither is given.

        Raises `UsageError` for one without the other, and for files that are no certificate with its key.
        """
        if cert_path is None and key_path is None:
            return None
        if cert_path is None or key_path is None:
            raise UsageError("--tls-cert and --tls-key belong together: give both files, or neither", option="tls_cert")
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(cert_path, key_path, password=_no_password)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{cert_path} and {key_path} are no certificate with its key in PEM, without a password ({error})",
                option="tls_cert",
                value=str(cert_path),
            ) from error
        return cls(cert_path, key_path)


def _no_password() -> str:
    # Without an answer from here OpenSSL asks at the terminal, where nobody may be.
    raise ValueError("the key has a password")
