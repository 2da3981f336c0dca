"""``completion``: a script for the shell, written from the same table as everything else."""

from __future__ import annotations

import sys

from coordctl import grammar, own, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from coordctl.grammar import Invocation

_EVERYWHERE: Final = ("-C", "--socket", "--no-start", "--json", "--version", "--help")


def completion(invocation: Invocation) -> int:
    """Print the script."""
    write = {"bash": bash, "zsh": zsh, "fish": fish}[invocation.params["shell"]]
    sys.stdout.write(write())
    return 0


def bash() -> str:
    """Completes command words, flags, and the values of flags with a closed list."""
    return f"""\
# bash completion for coordctl
_coordctl() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= choices= word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word == -* ]] || command="$command${{command:+ }}$word"
    done
    case "$command" in
{_cases()}    esac
    case "$command|$previous" in
{_value_cases()}    esac
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
}}
complete -o default -F _coordctl coordctl
"""


def zsh() -> str:
    """The bash script, through zsh's own bridge."""
    return "#compdef coordctl\nautoload -U +X bashcompinit && bashcompinit\n" + bash()


def fish() -> str:
    """One ``complete`` line for each word and flag."""
    return "\n".join(("# fish completion for coordctl", "complete -c coordctl -f", *_fish())) + "\n"


def _specs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from own.COMMANDS.items()
    yield from table.COMMANDS.items()


def _first_words() -> dict[str, set[str]]:
    """Each prefix of a command and the words that may follow it."""
    following: dict[str, set[str]] = {}
    for words in (*grammar.all_words(), *table.ALIASES):
        parts = words.split()
        for index, part in enumerate(parts):
            following.setdefault(" ".join(parts[:index]), set()).add(part)
    return following


def _flags(spec: dict[str, Any]) -> list[str]:
    named = [
        grammar.flag_of(name)
        for name in spec["fields"]
        if name not in spec.get("positional", ()) and name != spec.get("rest")
    ]
    return [*named, *(f"{grammar.flag_of(name)}-file" for name in spec.get("files", ()))]


def _cases() -> str:
    lines = [
        f"        '{prefix}') choices='{' '.join(sorted(words))}' ;;\n"
        for prefix, words in _first_words().items()
    ]
    for words, spec in sorted(_specs(), key=lambda item: -len(item[0])):
        choices = " ".join((*_words_of(spec), *_flags(spec), *_EVERYWHERE))
        lines.append(f"        '{words}'*) choices='{choices}' ;;\n")
    return "".join(lines)


def _words_of(spec: dict[str, Any]) -> tuple[str, ...]:
    """The closed list of a positional, if it has one."""
    found: list[str] = []
    for name in spec.get("positional", ()):
        found += spec["fields"][name].get("choices", ())
    return tuple(found)


def _value_cases() -> str:
    return "".join(
        f"        '{words}'*'|{grammar.flag_of(name)}') choices='{' '.join(field['choices'])}' ;;\n"
        for words, spec in _specs()
        for name, field in spec["fields"].items()
        if field.get("choices") and name not in spec.get("positional", ())
    )


def _fish() -> Iterator[str]:
    for prefix, following in _first_words().items():
        parts = [f"__fish_seen_subcommand_from {part}" for part in prefix.split()]
        test = "; and ".join(parts) or "__fish_use_subcommand"
        yield f"complete -c coordctl -n '{test}' -a '{' '.join(sorted(following))}'"
    for words, spec in _specs():
        last = words.split()[-1]
        for flag in _flags(spec):
            yield f"complete -c coordctl -n '__fish_seen_subcommand_from {last}' -l {flag[2:]}"
