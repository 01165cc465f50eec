"""The investigation app inside the server's process, behind the server's guard and token."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tracekit.queries import folder
from tracekit.receiver import Access, Guard, ReceiverSettings, http_server, listener
from tracekit.serving.app_settings import app_settings

_COOKIE = "tracekit_token"
_DRAIN_S = 1


class TokenGate:
    """Lets in who carries the token: in the address once (`?token=…`), in a cookie from then on."""

    def __init__(self, app: ASGIApp, *, access: Access, is_secure: bool = False) -> None:
        self._app = app
        self._access = access
        self._is_secure = is_secure

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
        token = _cookie_token(headers.get("cookie", ""))
        given = headers.get("authorization") if token is None else f"Bearer {token}"
        return self._access.refusal(given) is None or scope["path"] == "/_stcore/health"

    def _answer(self, scope: Scope) -> ASGIApp:
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._access.refusal(f"Bearer {token}") is not None:
            return PlainTextResponse("Open this page as /?token=TOKEN, with the token of the server.\n", 401)
        # A path of two slashes would lead to another host.
        welcome = RedirectResponse("/" + scope["path"].lstrip("/\\"), status_code=303)
        welcome.set_cookie(_COOKIE, token, httponly=True, samesite="strict", secure=self._is_secure)
        return welcome


def _cookie_token(header: str) -> str | None:
    try:
        cookie = SimpleCookie(header).get(_COOKIE)
    except CookieError:
        return None
    return None if cookie is None else cookie.value


class AppServer:
    """Serves the app over the store at `path` on a port, in a thread of its own; a context manager."""

    def __init__(self, path: Path, settings: ReceiverSettings, *, port: int) -> None:
        self.host = settings.host
        self._settings = settings
        self._listener = listener(settings.host, port, option="--ui")
        self.port: int = self._listener.getsockname()[1]
        os.environ["TRACEKIT_STORES"] = str(path)
        self._answering: Future[None] = Future()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._run, name="tracekit-app", daemon=True)

    def __enter__(self) -> Self:
        """Serve; returns when the app answers."""
        self._thread.start()
        self._answering.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, with whatever pages are open."""
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(timeout=2 * _DRAIN_S + 1)
        self._listener.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._answering.done():
                raise
            self._answering.set_exception(error)

    async def _serve(self) -> None:
        certificate = self._settings.certificate
        self._server = server = http_server(
            self._guarded(_app(self._settings.host, self.port)),
            certificate=certificate,
            drain_s=_DRAIN_S,
            with_lifespan=True,
            with_websocket=True,
        )
        serving = asyncio.create_task(server.serve(sockets=[self._listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        self._answering.set_result(None)
        await serving

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        access = Access(self._settings.token)
        if self._settings.token is not None:
            app = TokenGate(app, access=access, is_secure=self._settings.certificate is not None)
        return Guard(app, access)


def _app(host: str, port: int) -> Any:
    """Streamlit's application, with the settings that the app ships with."""
    import streamlit as st
    from streamlit.web import bootstrap

    settings = app_settings(server_address=host, server_port=port, server_headless=True)
    bootstrap.load_config_options({name.replace(".", "_"): value for name, value in settings.items()})
    return st.App(folder("app") / "main.py")
