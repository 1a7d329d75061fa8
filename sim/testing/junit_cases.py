"""The tests that a client's own command ran, from the JUnit file that it wrote."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

from msgspec import Struct, structs

from sim.run.actors.script.expectations import shortened

_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


class Cases(Struct, frozen=True):
    """The tests of one run: whether they passed, the first line of each failure, and whether any of
    them used an exchange of its own.
    """

    passed: dict[str, bool]
    messages: dict[str, str]
    met: bool = False

    @property
    def failing(self) -> dict[str, str]:
        """The failed tests, with the first line of their messages."""
        return {name: self.messages.get(name, "") for name, ok in self.passed.items() if not ok}


def asking_for(path: Path) -> dict[str, str]:
    """Return the environment that asks a command for its cases: pytest writes them without any
    option, others find the path in SIM_JUNIT.
    """
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --junitxml='{path}'".strip()
    return {"PYTEST_ADDOPTS": options, "SIM_JUNIT": str(path)}


def read_cases(path: Path) -> Cases:
    """Return the cases of a JUnit file; none if the file is missing or truncated."""
    cases = Cases({}, {})
    if not path.is_file():
        return cases
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return cases
    for case in root.iter("testcase"):
        if case.find("skipped") is None:
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            failures = [*case.iter("failure"), *case.iter("error")]
            cases.passed[name] = cases.passed.get(name, True) and not failures
            for failure in failures:
                # runners write the failure as message, as text, or as both
                details = failure.get("message") or failure.text or ""
                cases.messages.setdefault(name, one_line(details))
    # each test with the fixture `exchange` has its own exchange
    properties = {element.get("name") for element in root.iter("property")}
    return structs.replace(cases, met="exchange.seed" in properties)


def one_line(text: str) -> str:
    """Return the first line with text, without characters that terminals and XML cannot show."""
    plain = _COLOUR.sub("", text)
    lines = ("".join(filter(str.isprintable, line)).strip() for line in plain.splitlines())
    return shortened(next(filter(None, lines), ""))
