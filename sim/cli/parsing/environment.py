"""Options from the environment: `SIM_PORT_BASE` for `--port-base`, and so on, for every command
that has the option.

| Kind of option | Value of its variable |
|---|---|
| with a value | the value |
| switch | 1, true, yes, on; 0, false, no, off |
| repeatable | values with commas between them |
| the scenario of `serve` and `hunt` | `SIM_SCENARIO` |

The command line overrides the environment. An empty value means no value. Other positional
arguments, and the options of `NOT_READ`, are read from the command line only. A `SIM_*` variable
that nothing reads causes a warning, because a misspelt name has no effect.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# Variables that are read elsewhere, or set for clients.
KNOWN = (
    *("SIM_SCENARIO", "SIM_COMMAND", "SIM_CONTROL_TOKEN", "SIM_READING", "SIM_READY_FILE"),
    *("SIM_GATEWAY", "SIM_RETAIL", "SIM_EXCHANGE", "SIM_AUTH", "SIM_GRPC", "SIM_CONTROL"),
    *("SIM_DOCS", "SIM_TLS_CA", "SIM_JUNIT", "SIM_CERTIFY_LEG"),
)
_ELSEWHERE = ("--help", "--control-token")  # the second one is handled separately
_PLANES = ("gateway", "retail", "exchange", "auth", "grpc")
_FOR_CLIENTS = "it names a running exchange for its clients, not what is behind a recorder"
_OF_A_RUNNING_ONE = "it names the ready file of a running exchange, for commands that ask it"
# Why the variable of an option is not read, by (command, option); "" means every command.
NOT_READ = {
    **{("record", f"--{plane}"): _FOR_CLIENTS for plane in _PLANES},
    **{(name, "--ready-file"): _OF_A_RUNNING_ONE for name in ("open", "replay", "record")},
    ("", "--junit"): "`sim calendar` gives a client this variable, for a report of its own",
}
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def variable(option: str) -> str:
    """The variable of an option: SIM_PORT_BASE for --port-base."""
    return "SIM_" + option.lstrip("-").replace("-", "_").upper()


def options_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """(option, action) of every option of a command that can come from the environment."""
    name = parser.prog.rpartition(" ")[2]
    for option, action in long_options(parser):
        if NOT_READ.keys().isdisjoint({("", option), (name, option)}):
            yield option, action


def long_options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """(option, action) of every option in the help, by its first long name."""
    for action in parser._actions:
        for option in action.option_strings:
            visible = action.help is not argparse.SUPPRESS
            if option.startswith("--") and visible and option not in _ELSEWHERE:
                yield option, action
                break


def from_environment(
    parser: argparse.ArgumentParser, arguments: Sequence[str], environ: Mapping[str, str]
) -> list[str]:
    """Arguments from the environment, to be put before those of the command line. Exits with 2 if a
    switch has an invalid value.
    """
    added: list[str] = []
    for option, action in options_of(parser):
        name = variable(option)
        value = environ.get(name, "").strip()
        if not value or any(
            argument.partition("=")[0] in action.option_strings for argument in arguments
        ):
            continue
        if action.nargs == 0:
            if value.lower() not in (*_ON, *_OFF):
                accepted = f"{', '.join(_ON)} or {', '.join(_OFF)}"
                parser.error(f"{name} must be {accepted}, not {value!r}")
            added += [option] if value.lower() in _ON else []
        elif not isinstance(action, argparse._AppendAction):
            added.append(f"{option}={value}")
        else:
            added += [f"{option}={part.strip()}" for part in value.split(",") if part.strip()]
    scenario = environ.get("SIM_SCENARIO", "").strip()
    if scenario and any(
        action.dest == "scenario" and action.nargs == "?" for action in parser._actions
    ):
        parser.set_defaults(scenario=scenario)
    return added


def unknown_variables(
    parser: argparse.ArgumentParser,
    environ: Mapping[str, str],
    every: Callable[[], Iterable[argparse.ArgumentParser]],
) -> Iterator[str]:
    """A warning for each `SIM_*` variable that no command reads. `every` returns the parsers of all
    commands; it is called only for variables that this command does not read.
    """
    accepted = {*KNOWN, *(variable(option) for option, _ in options_of(parser))}
    strange = [name for name in sorted(environ) if name.startswith("SIM_") and name not in accepted]
    for name in strange:
        accepted |= {variable(option) for other in every() for option, _ in options_of(other)}
        if name not in accepted:
            near = difflib.get_close_matches(name, accepted, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield f"sim: warning: the variable {name} is unknown and has no effect{hint}"
