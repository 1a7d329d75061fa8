"""Branches against lists that hold every line of a branch, its forebears' too."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim.kernel.branches import Branch, LinePosition, Tree, grow

Lines = list[tuple[str, LinePosition]]  # each with the branch on which it was written


class Model:
    """A tree that grows, and for each of its branches the lines that led to its end."""

    def __init__(self) -> None:
        self.tree: Tree = {}
        self.lines: dict[str, Lines] = {}
        self.written = 0

    def start(self, seed: int, timers: int) -> None:
        branch = grow(self.tree, seed, "reset" if self.tree else "start")
        branch.timers = timers
        self.lines[branch.name] = []

    def leave(self, which: int, at: int) -> None:
        """Begin a branch somewhere on another, as a journal does: of the holder of that line."""
        parent = [*self.tree.values()][which % len(self.tree)]
        seq = at % (parent.seq + 1)
        branch = grow(self.tree, parent.seed, "rewind", parent.holder(seq), seq)
        self.lines[branch.name] = self.lines[parent.name][:seq]

    def write(self, after: int, timers: int, cause: int) -> None:
        """Add a line to the newest branch; instants and timers never go back on it."""
        branch = [*self.tree.values()][-1]
        before = self.lines[branch.name]
        last = before[-1][1] if before else LinePosition(0, 0, 0, branch.timers, 0)
        line_position = LinePosition(
            self.written, 7, last.after + after, last.timers + timers, cause
        )
        self.written += 8
        branch.add(*line_position)
        before.append((branch.name, line_position))


small = st.integers(0, 2)
deeds = st.one_of(
    st.tuples(st.just("start"), st.integers(1, 3), st.integers(1, 4)),
    st.tuples(st.just("leave"), st.integers(0, 9), st.integers(0, 30)),
    *[st.tuples(st.just("write"), small, small, st.integers(0, 5))] * 3,
)


LINE = ("write", 1, 1, 2)


@settings(max_examples=25)
@given(st.lists(deeds, max_size=40))
@example([*[LINE] * 5, ("leave", 0, 3), *[LINE] * 4, ("leave", 1, 5), *[LINE] * 3])
@example([*[LINE] * 5, ("leave", 0, 3), *[LINE] * 2, ("leave", 1, 2), ("start", 2, 2), LINE])
def test_a_branch_has_the_lines_that_led_to_it(deeds: list[tuple]) -> None:  # type: ignore[type-arg]
    model = Model()
    model.start(7, 3)
    for name, *words in deeds:
        getattr(model, name)(*words)
    assert [*model.tree] == ["main", *(f"branch-{at}" for at in range(1, len(model.tree)))]
    copies: Tree = {}
    for name, branch in model.tree.items():
        parent = branch.parent
        twin = copies[name] = branch.copy(copies[parent.name] if parent is not None else None)
        assert (twin.seed, twin.begun, twin.timers) == (branch.seed, branch.begun, branch.timers)
    for tree in (model.tree, copies):
        for name, branch in tree.items():
            check(branch, model.lines[name])
            for low, high in product(range(7), repeat=2):
                check_part(branch, model.lines[name], low, high)


def check(branch: Branch, lines: Lines) -> None:
    places = [index for _, index in lines]
    assert branch.seq == len(lines)
    assert [branch.position(seq) for seq in range(1, branch.seq + 1)] == places
    assert [branch.holder(seq).name for seq in range(1, branch.seq + 1)] == [
        name for name, _ in lines
    ]
    for at in range(-1, 12):
        assert branch.seq_at(at) == sum(index.after <= at for index in places)
    for timer in range(12):
        by = next((seq for seq, index in enumerate(places, 1) if index.timers > timer), 0)
        assert branch.scheduled_by(timer, branch.seq) == (by if timer >= branch.timers else 0)


def check_part(branch: Branch, lines: Lines, low: int, high: int) -> None:
    places = [position for _, position in lines]
    end = min(high, branch.seq)
    assert [*branch.positions(low, end)] == places[low:end]
    parts = branch.parts(low, end)
    assert [(part.name, at) for part, first, last in parts for at in range(first, last)] == [
        (name, at) for at, (name, _) in enumerate(lines) if low <= at < end
    ]
    assert all(first < last for _, first, last in parts)
    assert len({part.name for part, _, _ in parts}) == len(parts)
    for timer in range(12):
        by = next((seq for seq, position in enumerate(places, 1) if position.timers > timer), 0)
        expected = by if timer >= branch.timers and by <= end else 0
        assert branch.scheduled_by(timer, end) == expected


def test_what_a_replay_learns_of_a_line_changes_all_but_its_position() -> None:
    main = grow({}, 7, "start")
    for number in range(3):
        main.add(10 * number, 9, number, 1, 0)
    tree: Tree = {"main": main}
    branch = grow(tree, 7, "rewind", main, 2)
    branch.add(30, 8, 2, 1, 0)
    branch.add(40, 8, 2, 1, 0)
    branch.learn(4, LinePosition(0, 0, 5, 6, 3))
    assert [*branch.positions(2, 4)] == [LinePosition(30, 8, 2, 1, 0), LinePosition(40, 8, 5, 6, 3)]
    main.learn(1, LinePosition(0, 0, 1, 2, 0))
    assert [*branch.positions(0, 2)] == [LinePosition(0, 9, 1, 2, 0), LinePosition(10, 9, 1, 1, 0)]


def test_a_branch_by_itself_is_one_from_a_start() -> None:
    branch = Branch("main", 7)
    assert (branch.begun, branch.parent, branch.from_seq, branch.timers, branch.seq) == (
        "start",
        None,
        0,
        0,
        0,
    )
