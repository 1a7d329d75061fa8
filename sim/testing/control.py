"""The control plane of an exchange, called from a test."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from msgspec import json

__tracebackhide__ = True  # pytest shows the line of the caller


class ControlError(Exception):
    """The control plane refused a call: `status` is the HTTP status, `body` the decoded answer."""

    def __init__(self, status: int, body: Any) -> None:
        message = body.get("message", "") if isinstance(body, dict) else body
        remedy = body.get("remedy", "") if isinstance(body, dict) else ""
        super().__init__(f"{status}: {message}" + (f" ({remedy})" if remedy else ""))
        self.status = status
        self.body = body


class Control(str):
    """The control plane's URL, which can be called.

    `exchange.control("POST", "/instruments/x/settle", {"price": "1"})` makes a call there.
    """

    def __call__(self, verb: str, path: str, body: dict[str, Any] | str | None = None) -> Any:
        """Make a call below `/_sim/v1` and return its answer: decoded JSON, or text. A text body is
        sent as YAML.

        Raises ControlError unless the status is 200.
        """
        content, kind = None, {}
        if isinstance(body, str):
            content, kind = body.encode(), {"Content-Type": "application/yaml"}
        elif body is not None:
            content = json.encode(body)
        with closing(HTTPConnection(urlsplit(self).netloc)) as connection:
            connection.request(verb, f"/_sim/v1{path}", content, kind)
            response = connection.getresponse()
            text = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        answer = json.decode(text) if is_json else text.decode()
        if response.status != 200:
            raise ControlError(response.status, answer)
        return answer


class Fault:
    """A fault in force, with its `id`. As a context manager it ends with the block."""

    def __init__(self, control: Control, number: str) -> None:
        self._control = control
        self.id = number

    def remove(self) -> None:
        """End the fault. Does nothing if it has already ended."""
        try:
            self._control("DELETE", f"/faults/{self.id}")
        except ControlError as error:
            if error.status != 404:
                raise

    def __enter__(self) -> Fault:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
