"""JUnit XML, the format in which continuous integration reads results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

# What XML cannot hold, not even escaped: controls, halves of surrogate pairs, non-characters.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """One test case. `failure` is a message, with details in `text`; `skipped` is a reason."""

    classname: str
    name: str
    seconds: float = 0
    failure: str = ""
    skipped: str = ""
    text: str = ""


class Suite(NamedTuple):
    """The cases of one run, and lines about it that belong to none."""

    name: str
    cases: Sequence[Case]
    properties: Mapping[str, str] = {}
    output: Sequence[str] = ()


def junit(suites: Iterable[Suite]) -> bytes:
    """Return the document."""
    root = ElementTree.Element("testsuites")
    for suite in suites:
        attributes = {
            "name": suite.name,
            "tests": str(len(suite.cases)),
            "failures": str(sum(1 for case in suite.cases if case.failure)),
            "skipped": str(sum(1 for case in suite.cases if case.skipped)),
            "errors": "0",
        }
        element = ElementTree.SubElement(root, "testsuite", attributes)
        if suite.properties:
            properties = ElementTree.SubElement(element, "properties")
            for name, value in suite.properties.items():
                ElementTree.SubElement(properties, "property", name=name, value=value)
        for case in suite.cases:
            _add(element, case)
        if suite.output:
            ElementTree.SubElement(element, "system-out").text = "\n".join(suite.output)
    for element in root.iter():
        element.text = _writable(element.text or "") or None
        for name, value in element.attrib.items():
            element.set(name, _writable(value))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _writable(text: str) -> str:
    """Return text with what XML cannot hold as escapes, such as \\u0001."""
    return _UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _add(suite: ElementTree.Element, case: Case) -> None:
    names = {"classname": case.classname, "name": case.name}
    time = f"{case.seconds:.3f}" if case.seconds else "0"
    element = ElementTree.SubElement(suite, "testcase", names, time=time)
    if case.failure:
        failure = ElementTree.SubElement(element, "failure", message=case.failure)
        failure.text = case.text or case.failure
    elif case.skipped:
        ElementTree.SubElement(element, "skipped", message=case.skipped)
    elif case.text:
        ElementTree.SubElement(element, "system-out").text = case.text
