"""The investigation app inside the server's process, behind the server's token."""

from __future__ import annotations

import os
import threading
import time
import urllib.request
from collections.abc import Callable
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.error import URLError
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tracekit.queries import folder
from tracekit.receiver import ReceiverSettings
from tracekit.receiver.access import Access, is_loopback
from tracekit.serving.app_settings import app_settings

_COOKIE = "tracekit_token"
_ASK_AGAIN_S = 0.1


class TokenGate:
    """Lets in who carries the token: in the address once (`?token=…`), in a cookie from then on."""

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or WebSocket of the app, or refuse it."""
        if scope["type"] not in ("http", "websocket") or self._is_allowed(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(scope)(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        cookie = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
        given = f"Bearer {cookie.value}" if cookie else headers.get("authorization")
        return self._access.refusal(given) is None or scope["path"] == "/_stcore/health"

    def _answer(self, scope: Scope) -> ASGIApp:
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._access.refusal(f"Bearer {token}") is not None:
            return PlainTextResponse("Open this page as /?token=TOKEN, with the token of the server.\n", 401)
        welcome = RedirectResponse(scope["path"] or "/", status_code=303)
        welcome.set_cookie(_COOKIE, token, httponly=True, samesite="strict")
        return welcome


def run_app(path: Path, settings: ReceiverSettings, *, port: int, ready: Callable[[str], None]) -> None:
    """Run the app over the store at `path` until SIGTERM or SIGINT; `ready` is told its address when it
    answers."""
    import streamlit as st

    os.environ["TRACEKIT_DB"] = str(path)
    gate = [Middleware(TokenGate, access=Access(settings.token))] if settings.token is not None else []
    local = settings.host if is_loopback(settings.host) else "127.0.0.1"
    url = f"http://{local}:{port}"
    threading.Thread(target=_tell_when_ready, args=(url, ready), daemon=True).start()
    config = app_settings(server_address=settings.host, server_port=port, server_headless=True)
    st.App(folder("app") / "main.py", middleware=gate).run(config=config)


def _tell_when_ready(url: str, ready: Callable[[str], None]) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health") as answer:
                if answer.status == 200:
                    ready(url)
                    return
        except (URLError, OSError):
            time.sleep(_ASK_AGAIN_S)
