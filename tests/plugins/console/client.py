"""A page without a browser: requests as they are on the wire, and the stream of events."""

from __future__ import annotations

import http.client
import json


class Client:
    """Speaks to a console as its page does, unless it is told otherwise."""

    def __init__(self, console, *, enter=True):
        self.host = console.url.removeprefix("http://")
        self.session = ""
        if enter:
            status, _, told = self.post("session", {"code": console.code})
            assert status == 200, told
            self.session = told["session"]

    def request(self, method, path, body=None, *, leave_out=(), **changed):
        """(status, headers, body); *changed* are headers, by names with ``_`` for ``-``."""
        headers = {"Host": self.host, "Sec-Fetch-Site": "same-origin", "Authorization": f"Bearer {self.session}"}
        if method == "POST":
            headers |= {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        connection = http.client.HTTPConnection("127.0.0.1", int(self.host.partition(":")[2]), timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        if method == "POST":
            headers.setdefault("Content-Length", str(len(data)))
        for name, value in headers.items():
            for each in value if isinstance(value, list) else [value]:
                if name not in leave_out:
                    connection.putheader(name, each)
        connection.endheaders(data)
        return connection, connection.getresponse()

    def ask(self, method, path, body=None, **more):
        connection, answer = self.request(method, path, body, **more)
        data = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data

    def post(self, name, body=None, **more):
        status, headers, data = self.ask("POST", f"/api/{name}", body if body is not None else {}, **more)
        return status, headers, json.loads(data)

    def events(self):
        """The stream: ``next(events)`` is (kind, value)."""
        connection, answer = self.request("GET", "/api/events")
        assert answer.status == 200
        try:
            kind = ""
            while line := answer.readline():
                name, _, text = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = text
                elif name == "data":
                    yield kind, json.loads(text)
        finally:
            connection.close()
