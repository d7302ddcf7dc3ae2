"""A real HTTP service with an OpenAPI description, which answers slowly, hugely, wrongly and elsewhere on request."""

from __future__ import annotations

import threading

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

PETS = {1: {"id": 1, "name": "Rex", "tags": ["dog"]}}


def _answers(schema: dict | None = None) -> dict:
    content = {"content": {"application/json": {"schema": schema}}} if schema else {}
    return {"200": {"description": "ok", **content}}


PET = {"$ref": "#/components/schemas/Pet"}
ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
KIND = {"name": "kind", "in": "path", "required": True, "schema": {"type": "string"}}


def description(server: str) -> dict:
    """The description of the service at *server*."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": server}],
        "paths": {
            "/pets": {
                "get": {
                    "operationId": "listPets",
                    "summary": "List pets",
                    "description": "All of them.",
                    "parameters": [
                        {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                        {"name": "limit", "in": "query", "schema": {"type": "integer", "nullable": True}},
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    ],
                    "responses": _answers(),
                },
                "post": {
                    "operationId": "addPet",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": PET}}},
                    "responses": _answers(PET),
                },
            },
            "/pets/{petId}": {
                "parameters": [ID],
                "get": {"operationId": "getPet", "responses": _answers(PET)},
                "delete": {"responses": {"204": {"description": "gone"}}},
            },
            "/odd/{kind}": {
                "get": {"operationId": "odd", "parameters": [KIND], "responses": _answers()},
                "post": {
                    "operationId": "send",
                    "parameters": [KIND, {"name": "kind", "in": "query", "schema": {"type": "string"}}],
                    "requestBody": {"content": {"text/plain": {}}},
                    "responses": _answers(),
                },
            },
            "/form": {
                "post": {
                    "operationId": "form",
                    "requestBody": {
                        "content": {
                            "application/x-www-form-urlencoded": {
                                "schema": {"type": "object", "properties": {"a": {"type": "string"}}}
                            }
                        }
                    },
                    "responses": _answers(),
                }
            },
            "/upload": {
                "post": {
                    "operationId": "upload",
                    "requestBody": {"content": {"image/png": {}}},
                    "responses": _answers(),
                }
            },
            "/broken": {"get": {"operationId": "broken", "responses": {"200": {"$ref": "#/components/nothing"}}}},
            "/remote": {
                "get": {
                    "operationId": "remote",
                    "parameters": [{"$ref": "https://example.org/parameters.json#/x"}],
                    "responses": _answers(),
                }
            },
        },
        "components": {
            "schemas": {
                "Pet": {
                    "type": "object",
                    "required": ["id", "name"],
                    "properties": {
                        "id": {"type": "integer", "readOnly": True},
                        "name": {"type": "string", "example": "Rex"},
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "weight": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "nullable": True},
                        "parent": PET,
                        "secret": {"type": "string", "writeOnly": True},
                    },
                }
            }
        },
    }


class Service:
    """The application; a test can see what came in, and hold answers back."""

    def __init__(self) -> None:
        self.seen: list[dict] = []
        self.waiting = threading.Event()
        self.abandoned = threading.Event()
        self.app = Starlette(
            routes=[
                Route("/openapi.json", self.openapi),
                Route("/v1/pets", self.pets, methods=["GET", "POST"]),
                Route("/v1/pets/{id:int}", self.pet, methods=["GET", "DELETE"]),
                Route("/v1/odd/{kind:path}", self.odd, methods=["GET", "POST"]),
                Route("/v1/form", self.form, methods=["POST"]),
            ]
        )
        self.url = ""

    async def _note(self, request) -> None:
        self.seen.append(
            {
                "method": request.method,
                "path": request.scope["raw_path"].decode(),
                "query": request.url.query,
                "headers": dict(request.headers),
                "body": (await request.body()).decode(),
            }
        )

    async def openapi(self, _):
        return JSONResponse(description("/v1"))

    async def pets(self, request):
        await self._note(request)
        if request.method == "POST":
            return JSONResponse({"id": 2, **(await request.json())})
        return JSONResponse(list(PETS.values()))

    async def pet(self, request):
        await self._note(request)
        if request.method == "DELETE":
            return Response(status_code=204)
        pet = PETS.get(request.path_params["id"])
        return JSONResponse(pet) if pet else JSONResponse({"detail": "no such pet"}, status_code=404)

    async def form(self, request):
        await self._note(request)
        return JSONResponse(dict(await request.form()))

    async def odd(self, request):
        await self._note(request)
        kind = request.path_params["kind"]
        if kind == "slow":
            self.waiting.set()
            try:
                while (await request.receive())["type"] != "http.disconnect":
                    pass
            finally:
                self.abandoned.set()
        if kind == "huge":

            async def pieces():
                for _ in range(200):
                    yield b"x" * 1_000_000

            return StreamingResponse(pieces(), media_type="text/plain")
        if kind.startswith("status-"):
            headers = {"Retry-After": "7"} if kind == "status-429" else {}
            return PlainTextResponse("it went wrong", status_code=int(kind[7:]), headers=headers)
        return {
            "text": lambda: PlainTextResponse("grüße"),
            "malformed": lambda: Response('{"a": ', media_type="application/json"),
            "image": lambda: Response(b"\x89PNG", media_type="image/png"),
            "empty": lambda: Response(b""),
            "here": lambda: RedirectResponse("/v1/odd/text", status_code=302),
            "circle": lambda: RedirectResponse("/v1/odd/circle", status_code=302),
            "away": lambda: RedirectResponse("http://example.org/v1/odd/text", status_code=302),
            "nowhere": lambda: Response(status_code=302),
        }.get(kind, lambda: JSONResponse({"kind": kind}))()
