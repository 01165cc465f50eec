"""Who may talk to the server: the token, and pages of foreign sites that a browser is lured into loading."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from functools import cache

from tracekit.receiver.outcome import Refusal, Refused

_SCHEME = "bearer "
_LOCAL_NAMES = ("localhost",)


@dataclass(frozen=True, slots=True)
class Access:
    """The token that every request must carry; None lets everybody in who reaches the port."""

    token: str | None

    def refusal(self, authorization: str | None) -> Refused | None:
        """The answer to a request that does not carry the token; None for one that does."""
        if self.token is None or self._matches(authorization or ""):
            return None
        return Refused(
            Refusal.UNAUTHENTICATED,
            "this server wants its token: send the header 'authorization: Bearer TOKEN' "
            "(OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN)",
        )

    def allows_host(self, host: str | None) -> bool:
        """Whether a request's `Host` may read the store.

        Without a token only this machine's own names may: a page of a foreign site whose name was pointed at
        127.0.0.1 would else read it through the browser.
        """
        name = _without_port(host or "").lower()
        return self.token is not None or is_loopback(name) or name in _own_names()

    def _matches(self, authorization: str) -> bool:
        scheme, given = authorization[: len(_SCHEME)], authorization[len(_SCHEME) :]
        right = (self.token or "").encode()
        return scheme.lower() == _SCHEME and hmac.compare_digest(given.strip().encode(), right)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own and reachable from nowhere else."""
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def _own_names() -> frozenset[str]:
    name = socket.gethostname().lower()
    return frozenset({name, name.partition(".")[0]} - {""})


def _without_port(host: str) -> str:
    if host.startswith("["):
        address, bracket, _ = host[1:].partition("]")
        return address if bracket else ""
    return host.partition(":")[0]
