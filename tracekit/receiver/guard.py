"""What a request must be before any route sees it: who may send it, and how large its body may be.

One guard stands before the HTTP port and before the app, its WebSocket included.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracekit.receiver.access import Access, is_loopback
from tracekit.receiver.http_export import refusal, request_encoding
from tracekit.receiver.outcome import Refusal, Refused, stalled

_EXPORTS = "/v1/"
# What others than exports send: a statement, an event of a page.
_BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses what no route should see; an ASGI application around another.

    `body_bytes` are limits of single paths; None leaves it to the route.
    """

    app: ASGIApp
    access: Access
    body_timeout_s: float = 30.0
    body_bytes: Mapping[str, int | None] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or WebSocket, or refuse it."""
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._foreign(Headers(scope=scope)) is None:
            await self.app(scope, receive, send)
            return
        await receive()
        # Before it is accepted, this is an answer of 403.
        await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = _Body(receive, self._limit_of(scope["path"]), self.body_timeout_s)
        answered = _Answered(send)
        refused = self._foreign(Headers(scope=scope)) or body.refused_before(Headers(scope=scope))
        if refused is None:
            try:
                await self.app(scope, body.receive, answered.send)
            except _BodyRefusedError as error:
                refused = error.refused
            except ClientDisconnect:
                return
        if refused is not None and not answered.has_begun:
            await _response(Request(scope), refused)(scope, receive, send)

    def _limit_of(self, path: str) -> int | None:
        return self.body_bytes.get(path, None if path.startswith(_EXPORTS) else _BODY_BYTES)

    def _foreign(self, headers: Headers) -> Refused | None:
        """Why the page or program that sends these headers may not talk to this server; None where it may.

        A browser on this machine can be made to send requests by any page: by its own address (`Origin` tells), or by
        a name of its own that was pointed at 127.0.0.1 (`Host` tells).
        """
        hosts, origin = headers.getlist("host"), headers.get("origin")
        if len(hosts) > 1:
            return Refused(Refusal.INVALID, "the request has more than one Host")
        if not self.access.allows_host(hosts[0] if hosts else None):
            return Refused(Refusal.FORBIDDEN, "ask this server as 127.0.0.1 or localhost, or start it with a --token")
        if origin is not None and not _is_own(origin, hosts[0] if hosts else ""):
            return Refused(Refusal.FORBIDDEN, "pages of other sites may not talk to this server")
        return None


def _is_own(origin: str, host: str) -> bool:
    """Whether a page comes from the server itself, or from a server on this machine."""
    try:
        place = urlsplit(origin)
        return place.netloc.lower() == host.lower() or is_loopback(place.hostname or "")
    except ValueError:
        return False


class _BodyRefusedError(BaseException):
    """Comes through whatever the application makes of errors."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


@dataclass(slots=True)
class _Body:
    """The body of a request on its way, within a size and a time."""

    next_message: Receive
    limit_bytes: int | None
    timeout_s: float
    size_bytes: int = 0
    is_whole: bool = False

    def refused_before(self, headers: Headers) -> Refused | None:
        """The refusal of a body that says itself that it is too large."""
        declared = headers.get("content-length", "")
        is_number = declared.isascii() and declared.isdigit()
        return self._too_large(int(declared[:20])) if is_number else None

    async def receive(self) -> Message:
        """The next message. Raises where the body is too large or too slow."""
        if self.is_whole:
            return await self.next_message()
        try:
            async with asyncio.timeout(self.timeout_s):
                message = await self.next_message()
        except TimeoutError as error:
            raise _BodyRefusedError(stalled(self.timeout_s)) from error
        self.size_bytes += len(message.get("body", b""))
        self.is_whole = not message.get("more_body", False)
        if refused := self._too_large(self.size_bytes):
            raise _BodyRefusedError(refused)
        return message

    def _too_large(self, size_bytes: int) -> Refused | None:
        if self.limit_bytes is None or size_bytes <= self.limit_bytes:
            return None
        return Refused(Refusal.TOO_LARGE, f"a body may have {self.limit_bytes} bytes here; send less")


@dataclass(slots=True)
class _Answered:
    """Sends, and knows whether an answer has begun."""

    next_send: Send
    has_begun: bool = False

    async def send(self, message: Message) -> None:
        """Send on."""
        self.has_begun = True
        await self.next_send(message)


def _response(request: Request, refused: Refused) -> Response:
    if request.url.path.startswith(_EXPORTS):
        response = refusal(refused, encoding=request_encoding(request) or "json")
    else:
        content = json.dumps({"error": "UsageError", "message": refused.message})
        response = Response(content, refused.why.http_status, media_type="application/json")
    # What is left of the body is not read.
    response.headers["Connection"] = "close"
    return response
