"""Courses: sequences of inputs that are only meaningful together, such as an order and its
replacement, or a stream that is resumed where it ended.

Each is a kind of gene. Random are its actors, markets, amounts and variants; what must fit together
does.
"""

from __future__ import annotations

from collections.abc import Callable

from sim.kernel.entropy import RandomStream
from sim.search.hunt.course_parts import Inputs
from sim.search.hunt.session_courses import SessionCourses


class Courses(SessionCourses):
    """Draws the courses of one episode."""

    def inputs(self, choices: RandomStream, name: str) -> Inputs:
        """Yield the inputs of a course, in the state in which it is used."""
        return _COURSES[name](self, choices)


def courses() -> tuple[str, ...]:
    """Return the kinds of genes, one for each course."""
    return tuple(f"course {name}" for name in _COURSES)


_COURSES: dict[str, Callable[[Courses, RandomStream], Inputs]] = {
    "replace": Courses.replace,
    "same-name": Courses.same_name,
    "self-match": Courses.self_match,
    "stops": Courses.stops,
    "bounds": Courses.out_of_bounds,
    "slow-engine": Courses.slow_engine,
    "sweep": Courses.sweep,
    "settle": Courses.settle,
    "related": Courses.related,
    "poor": Courses.poor,
    "quotes": Courses.quotes,
    "combo": Courses.combo,
    "cross": Courses.cross,
    "vendor": Courses.vendor,
    "resume": Courses.resume,
    "crowd": Courses.crowd,
    "follow": Courses.follow,
    "flood": Courses.flood,
    "account": Courses.account,
    "outlive": Courses.outlive,
    "removed": Courses.removed,
    "verify": Courses.verify,
    "deaf": Courses.deaf,
    "index": Courses.index,
}
