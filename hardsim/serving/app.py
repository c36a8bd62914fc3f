"""The web application of the page: its files, and one address that answers requests.

Only the page itself may ask. A page of another site cannot: its requests have another origin, and if its name is made
to point to this machine (DNS rebinding), another host. The policy of the page allows its own script, style and
requests, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hardsim.serving.page_messages import page_messages
from hardsim.serving.page_requests import PageRequest, refusal
from hardsim.serving.workers import Busy, Workers

LARGEST_BODY = 100_000
"""Greatest number of bytes of a request."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PARTS: Mapping[str, tuple[str, str]] = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/lessons.json": ("lessons.json", "application/json"),
}
"""The files of the page, by address, each with its type."""
Texts: TypeAlias = Mapping[str, bytes]


def parts() -> Texts:
    """Return the content of the files of the page, by address."""
    folder = files("hardsim.serving")
    return {address: folder.joinpath(name).read_bytes() for address, (name, _) in PARTS.items()}


class OwnPage:
    """Middleware that refuses requests to other hosts and from other origins, and adds the headers of the page."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, hosts
        self._origins = [f"http://{host}" for host in hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of ASGI."""
        reason = self._refusal(scope)
        app: ASGIApp = self._app if reason is None else _said(403, reason)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        await app(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused, or None."""
        if scope["type"] != "http":
            return "Only plain requests are answered."
        headers = Headers(scope=scope)
        # A list, because two headers of one name could mean one host here and another one to a proxy.
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return f"This page is for this machine alone. Open http://{self._hosts[0]}/"
        # Browsers send an origin with every request that is no plain GET, and no page can change it.
        origins = headers.getlist("origin")
        if origins not in ([], *([one] for one in self._origins)) or (scope["method"] != "GET" and not origins):
            return "Another page may not use this one."
        return None


def application(workers: Workers, hosts: Sequence[str], ending: Callable[[], bool]) -> ASGIApp:
    """Return the application. `hosts` are the names, with port, under which a browser may ask for it; `ending` says
    whether the server is about to end, and wants no more answers."""
    texts = parts()

    async def part(request: Request) -> Response:
        address = request.url.path
        return Response(texts[address], media_type=PARTS[address][1])

    async def run(request: Request) -> Response:
        # A form of another page cannot send this type, and a script of it would first have to ask.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _said(415, "Send JSON.")
        body = await _body(request)
        if body is None:
            return _said(413, f"A request has at most {LARGEST_BODY:,} bytes.")
        try:
            wish = msgspec.json.decode(body, type=PageRequest)
        except msgspec.ValidationError as error:
            return _said(400, refusal(error))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _said(400, f"This request cannot be read: {error}")

        async def gone() -> bool:
            return ending() or await request.is_disconnected()

        try:
            answer = await workers.answer(wish, gone)
        except Busy:
            return _said(503, "Too many requests wait already. Try again in a moment.")
        remarks = page_messages(answer.messages, wish)
        return _json(200, {"command": wish.command, **msgspec.structs.asdict(answer), "remarks": remarks})

    routes = [Route(address, part) for address in PARTS]
    return OwnPage(Starlette(routes=[*routes, Route("/run", run, methods=["POST"])]), hosts)


async def _body(request: Request) -> bytes | None:
    """Return the body of a request, or None if it is too large; the rest of it is then not read."""
    body = b""
    try:
        # The length that a request states may be wrong, so its bytes are counted.
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_BODY:
                return None
    except ClientDisconnect:
        return b""
    return body


def _json(status: int, value: object) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _said(status: int, reason: str) -> Response:
    return _json(status, {"error": reason})
