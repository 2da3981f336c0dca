"""The table of settings in docs/operating.md is the declaration's.

Stale? ``python -m tests.daemon.test_settings_page`` writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from coordinatord.daemon import settings

PAGE: Final = Path(__file__).parents[2] / "docs" / "operating.md"
BEGIN: Final = "<!-- settings: begin (kept by tests/daemon/test_settings_page.py) -->\n"
END: Final = "<!-- settings: end -->"


def table() -> str:
    rows = ["| key | default | values | what it does |", "|---|---|---|---|"]
    for key in settings.keys().values():
        default = "not set" if key.default is None else f"`{_toml(key.default)}`"
        rows.append(f"| `{key.name}` | {default} | {key.values} | {key.doc} |")
    rows.append("")
    rows.append(
        "The variable of a key is `COORDINATORD_` and the key in capitals, with `_` for the dot:"
        " `COORDINATORD_DELIVERY_QUEUE_LIMIT`."
    )
    return "\n".join(rows) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def _current() -> tuple[str, str, str]:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    shown, mark, after = rest.partition(END)
    assert mark, "the page has lost its marks"
    return before, shown, after


def test_the_page_shows_every_setting_as_it_is_declared() -> None:
    assert _current()[1] == table()


def test_every_key_and_its_variable_lead_to_the_same_setting() -> None:
    """Dots become underscores, and no two keys share a variable."""
    variables = {key.variable for key in settings.keys().values()}
    assert len(variables) == len(settings.keys())
    assert "COORDINATORD_DELIVERY_QUEUE_LIMIT" in variables
    assert not variables & settings.NOT_SETTINGS


if __name__ == "__main__":
    before, _, after = _current()
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}", encoding="utf-8")
