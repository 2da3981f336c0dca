"""What can be set, and where each value came from.

Every key is a field here, with its text and unit; the table in docs/operating.md and `explain` read
them from the fields. A flag wins over a ``COORDINATORD_<KEY>`` variable, that over the workspace's
file, that over the user's, that over the default. No key may ever name a command to run: a cloned
repository can bring a configuration file along. Environment and files are passed in; nothing here
looks for them.
"""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta

from coordinatord.daemon.requests import Explained
from coordinatord.errors import Refused

PREFIX: Final = "COORDINATORD_"
NOT_SETTINGS: Final = frozenset({"COORDINATORD_SOCKET", "COORDINATORD_ROOT", "COORDINATORD_TOKEN"})
"""Ours too, but they say where and who, not how. Source: interfaces.md, Terminal host choice."""


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is delivered, and how much may wait."""

    events: Annotated[
        bool,
        Meta(description="Deliver by itself at settled moments; off: only when a notice is asked."),
    ] = True
    queue_limit: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Most messages one seat may be owed before further ones are refused.",
            extra={"unit": "messages"},
        ),
    ] = 200


class Alerts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a person is alerted through the terminal host."""

    after_s: Annotated[
        float,
        Meta(
            ge=0,
            le=604_800,
            description="Alert once when something stays undelivered that long; 0 never does.",
            extra={"unit": "s"},
        ),
    ] = 0.0


class Typing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How text reaches a pane."""

    inline_limit_bytes: Annotated[
        int,
        Meta(
            ge=256,
            le=65_536,
            description="Longest text that is typed itself; a longer one goes by file reference.",
            extra={"unit": "bytes"},
        ),
    ] = 8192


class PaneHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The embedded terminal host."""

    scrollback: Annotated[
        int,
        Meta(
            ge=100,
            le=100_000,
            description="Lines kept per pane above its screen, for panes opened from then on.",
            extra={"unit": "lines"},
        ),
    ] = 5000


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of one daemon, valid and complete."""

    terminal: Annotated[
        Literal["auto", "herdr", "embedded"],
        Meta(description="Terminal host: Herdr, the embedded one, or Herdr if it answers (auto)."),
    ] = "auto"
    herdr_socket: Annotated[
        Annotated[str, Meta(pattern=r"^/[^\x00]*$")] | None,
        Meta(description="Path of Herdr's socket; unset: HERDR_SOCKET_PATH, else its default."),
    ] = None
    backstop_s: Annotated[
        float,
        Meta(
            ge=0.05,
            le=3600,
            description="Longest time until everything is looked at again although no event came.",
            extra={"unit": "s"},
        ),
    ] = 15.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="Least severity that is written to the log."),
    ] = "info"
    retention_days: Annotated[
        int,
        Meta(
            ge=0,
            le=3650,
            description="What is over for so long is removed; 0 keeps everything for ever.",
            extra={"unit": "days"},
        ),
    ] = 0
    delivery: Delivery = Delivery()
    alerts: Alerts = Alerts()
    typing: Typing = Typing()
    panehost: PaneHost = PaneHost()


class Key(msgspec.Struct, frozen=True):
    """One setting as its field declares it."""

    name: str
    """Dotted, as in a file: ``delivery.queue_limit``."""
    type: Any
    default: Any
    doc: str
    unit: str | None

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.upper().replace(".", "_")

    @property
    def values(self) -> str:
        """What it may be set to: ``true or false``, ``1 to 3,600 s``, ``auto, herdr, embedded``."""
        inner, meta = get_args(self.type)[0], self.type.__metadata__[-1]
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, int | float):
            return f"{meta.ge:,} to {meta.le:,} {self.unit}"
        return (
            ", ".join(each for each in get_args(inner) if isinstance(each, str))
            or "an absolute path"
        )


class Layer(msgspec.Struct, frozen=True):
    """Values from one place."""

    source: str
    """Shown to people: ``flag``, ``environment``, or the file's path."""
    values: Mapping[str, Any]
    """By dotted key."""
    textual: bool = False
    """Values are text that stands for numbers and truth values, as in variables and flags."""


class Resolved(msgspec.Struct, frozen=True):
    """The settings, with the place each value that is not a default came from."""

    settings: Settings
    sources: Mapping[str, str]

    def explain(self) -> tuple[Explained, ...]:
        """Every key in the order of its declaration."""
        return tuple(
            Explained(
                key=key.name,
                value=functools.reduce(getattr, key.name.split("."), self.settings),
                source=self.sources.get(key.name, "built-in"),
                unit=key.unit,
                doc=key.doc,
            )
            for key in keys().values()
        )


@functools.cache
def keys() -> Mapping[str, Key]:
    """Every key by its dotted name."""
    return {key.name: key for key in _declared(Settings, "")}


def resolve(layers: Sequence[Layer]) -> Resolved:
    """Put the layers together, the strongest first.

    Raises:
        Refused: ``bad-setting`` for an unknown key or a wrong value in any layer, hidden by a
            stronger one or not: a mistake is told when it is made.
    """
    chosen: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in reversed(layers):
        for name, value in layer.values.items():
            chosen[name] = _checked(_known(name, layer.source), value, layer)
            sources[name] = layer.source
    return Resolved(msgspec.convert(_nested(chosen), Settings), sources)


def from_environment(environ: Mapping[str, str]) -> Layer:
    """The layer of the ``COORDINATORD_<KEY>`` variables. An empty variable is an unset one.

    Raises:
        Refused: ``bad-setting`` for a variable with our prefix that is no key and not in
            `NOT_SETTINGS`.
    """
    by_variable = {key.variable: key for key in keys().values()}
    values: dict[str, str] = {}
    for variable, text in environ.items():
        if not text or not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable not in by_variable:
            raise _unknown(variable, "the environment", by_variable)
        values[by_variable[variable].name] = text
    return Layer("environment", values, textual=True)


def from_flags(flags: Mapping[str, str]) -> Layer:
    """The layer of ``--set key=value`` flags and of the named flags that stand for a key."""
    return Layer("flag", dict(flags), textual=True)


def from_document(document: Mapping[str, Any], source: str) -> Layer:
    """The layer of a decoded TOML document; ``source`` is the file's path."""
    return Layer(source, dict(_flattened(document, "")))


def without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment that may be handed on: without ``HERDR_*`` and ``COORDINATORD_*``.

    Read the settings first. What a pane needs of these is put into its environment afresh.
    """
    return {
        name: value for name, value in environ.items() if not name.startswith(("HERDR_", PREFIX))
    }


def _declared(struct: type[msgspec.Struct], prefix: str) -> Iterator[Key]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _declared(field.type, f"{prefix}{field.name}.")
            continue
        meta: Meta = hints[field.name].__metadata__[-1]
        yield Key(
            name=prefix + field.name,
            type=hints[field.name],
            default=field.default,
            doc=meta.description or "",
            unit=(meta.extra or {}).get("unit"),
        )


def _flattened(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}.") if value else ()
        else:
            yield prefix + name, value


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *folders, leaf = name.split(".")
        functools.reduce(lambda table, part: table.setdefault(part, {}), folders, tree)[leaf] = (
            value
        )
    return tree


def _known(name: str, source: str) -> Key:
    if name not in keys():
        raise _unknown(name, source, keys())
    return keys()[name]


def _checked(key: Key, value: Any, layer: Layer) -> Any:
    try:
        converted = msgspec.convert(value, key.type, strict=not layer.textual)
        if isinstance(converted, float) and not math.isfinite(converted):
            raise msgspec.ValidationError("Expected a finite number")
    except msgspec.ValidationError as error:
        raise Refused(
            "bad-setting",
            f"The setting {key.name} from {_place(key, layer)} has a wrong value: {error}.",
            f"It may be {key.values}. {key.doc}",
        ) from None
    return converted


def _place(key: Key, layer: Layer) -> str:
    return f"the variable {key.variable}" if layer.source == "environment" else layer.source


def _unknown(name: str, source: str, known: Mapping[str, Any]) -> Refused:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return Refused(
        "bad-setting",
        f"{source} has an unknown setting: {name}.",
        f"The nearest known is {near[0]}.",
    )
