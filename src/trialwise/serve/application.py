"""The addresses of the page: documents, and the stream of events that keeps them current."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from trialwise import __version__
from trialwise.errors import TrialwiseError
from trialwise.report.html import asset, environment
from trialwise.serve import views
from trialwise.serve.guard import Guard
from trialwise.serve.hub import LIST, Hub, Page, Watched
from trialwise.serve.openmetrics import CONTENT_TYPE, openmetrics
from trialwise.serve.parts import Level
from trialwise.visible import visible

MOST_PAGES = 32
"""Pages that listen at a time."""
_ALIVE = 60.0
"""Seconds of silence after which a comment finds out whether the page is still there."""
_AGAIN = {"retry-after": "5"}
_FILES = {
    "report.css": "text/css",
    "serve.css": "text/css",
    "serve.js": "text/javascript",
    "grafana.json": "application/json",
}


def application(roots: Sequence[Path], scratch: Path, token: str) -> tuple[Guard, Hub]:
    """Return the application that shows the experiments below `roots`, and its watcher; `scratch` takes copies of ledgers."""
    hub = Hub(roots, scratch)
    pages = _Pages(hub)

    @contextlib.asynccontextmanager
    async def watching(_: Starlette) -> AsyncGenerator[None]:
        task = asyncio.create_task(hub.watch())
        yield
        task.cancel()

    routes = [
        Route("/", pages.overview),
        Route("/events", pages.events),
        Route("/metrics", pages.metrics),
        Route("/compare", pages.compare),
        Route("/history", pages.history),
        Route("/e/{key}/", pages.experiment),
        Route("/e/{key}/trial/{number:int}", pages.trial),
        Route("/static/{name}", pages.static),
    ]
    errors = {404: _told, 503: _told}
    return Guard(Starlette(routes=routes, exception_handlers=errors, lifespan=watching), token), hub


async def _told(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 what starlette passes for a status
    return PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)


class _Pages:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._listening = 0

    # Documents

    async def overview(self, _: Request) -> Response:
        self._hub.find()
        experiments = [watched.place for watched in self._hub.experiments.values()]
        return _page("serve_overview.html.j2", "", title="Experiments", experiments=experiments)

    async def experiment(self, request: Request) -> Response:
        watched = self._one(request.path_params["key"])
        return _page("serve_experiment.html.j2", "../../", title=watched.place.title, place=watched.place)

    async def trial(self, request: Request) -> Response:
        watched, number = self._one(request.path_params["key"]), request.path_params["number"]
        attempt = request.query_params.get("attempt", "")
        chosen = int(attempt) if attempt.isascii() and attempt.isdigit() and len(attempt) < 9 else None
        body = await self._told(lambda: views.trial(watched.place, number, chosen))
        title = f"{watched.place.title}: trial {number}"
        return _page(
            "serve_plain.html.j2", "../../../", title=title, body=body, back=f"e/{watched.place.key}/"
        )

    async def compare(self, request: Request) -> Response:
        a, b = (self._one(request.query_params.get(side, "")) for side in ("a", "b"))
        body = await self._told(lambda: views.comparison(a.place, b.place))
        title = f"{b.place.title} compared with {a.place.title}"
        return _page("serve_plain.html.j2", "", title=title, body=body, back="")

    async def history(self, _: Request) -> Response:
        places = [watched.place for watched in self._hub.experiments.values()]
        body = await self._told(lambda: views.history(places))
        return _page("serve_plain.html.j2", "", title="History", body=body, back="")

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            raise HTTPException(404, "There is no such file.")
        return Response(asset(name), media_type=_FILES[name])

    async def metrics(self, _: Request) -> Response:
        for watched in list(self._hub.experiments.values()):
            await self._hub.read(watched, "quick")
        return Response(openmetrics(list(self._hub.experiments.values())), media_type=CONTENT_TYPE)

    def _one(self, key: str) -> Watched:
        if (watched := self._hub.experiments.get(key)) is None:
            raise HTTPException(404, "There is no such experiment here.")
        return watched

    async def _told(self, view: views.View) -> Markup:
        """Return what a view says, or why it cannot say anything."""
        try:
            return await self._hub.compute(view)
        except TrialwiseError as error:
            return views.refused(error)

    # Events

    async def events(self, request: Request) -> Response:
        asked = request.query_params.getlist("e")
        keys = asked or list(self._hub.experiments)
        levels: tuple[Level, ...] = ("quick", "drawn", "slow") if asked else ("quick",)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if self._listening >= MOST_PAGES:
            raise HTTPException(503, "Too many pages listen; close one, or come back soon.", _AGAIN)
        since = request.headers.get("last-event-id") or request.query_params.get("since")
        return StreamingResponse(self._stream(keys, levels, since), media_type="text/event-stream")

    async def _stream(
        self, keys: Sequence[str], levels: Sequence[Level], since: str | None
    ) -> AsyncIterator[str]:
        self._listening += 1
        try:
            async with self._hub.page(keys, levels, since) as page:
                yield "retry: 2000\n\n"
                while not self._hub.is_closed:
                    async for text in self._news(page):
                        yield text
        finally:
            self._listening -= 1

    async def _news(self, page: Page) -> AsyncIterator[str]:
        """Yield what waits for a page, the latest of each part; after a long silence a comment."""
        try:
            await asyncio.wait_for(page.news.wait(), _ALIVE)
        except TimeoutError:
            yield ": still here\n\n"
            return
        page.news.clear()
        while (found := self._hub.next_of(page)) is not None:
            identity, key, name, part = found
            if name == LIST:
                yield "event: list\ndata: {}\n\n"
            else:
                yield _event(
                    identity, {"experiment": key, "part": name, "html": part.html, "data": part.data}
                )


def _event(identity: str, data: Mapping[str, Any]) -> str:
    return f"id: {identity}\nevent: part\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def _page(template: str, base: str, *, title: str, **values: object) -> Response:
    text = (
        environment()
        .get_template(template)
        .render(title=visible(title), base=base, version=__version__, **values)
    )
    return HTMLResponse(text)
