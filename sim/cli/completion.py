"""Print code that lets a shell complete commands and scenarios.

examples:
  echo 'eval "$(sim completion bash)"' >> ~/.bashrc
  echo 'eval "$(sim completion zsh)"' >> ~/.zshrc
  sim completion fish > ~/.config/fish/completions/sim.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="bash|zsh|fish", help="the shell")


def run(args: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["sim"], shell=args.shell))
    return 0


def complete(parser: argparse.ArgumentParser, commands: Iterable[argparse.ArgumentParser]) -> None:
    """Answer a shell that completes its line (described by environment variables), and exit."""
    import argcomplete
    from argcomplete.completers import FilesCompleter

    files = FilesCompleter()

    def scenarios(prefix: str, **_: object) -> list[str]:
        from sim.kernel import resources

        return [*resources.bundled_scenarios(), *files(prefix)]

    for command in commands:
        for action in command._actions:
            if action.dest in ("scenario", "scenarios"):
                action.completer = scenarios  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)
