"""What can be refused before any server starts."""

from __future__ import annotations

from page_size_eval.arms import Arm, arms_at, arms_for
from page_size_eval.defect import require_defect
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.server import pick_port
from page_size_eval.settings import Settings


def prepare_arms(settings: Settings) -> list[Arm]:
    """The arms of a run, its settings checked.

    Raises:
        CannotMeasure: a setting is wrong, or a server at a URL does not answer.
    """
    if settings.urls:
        _require_no_server_settings(settings)
        return arms_at(settings.urls, _page_size_at)
    arms = arms_for(settings.page_sizes, settings.tree)
    if settings.defect:
        require_defect(settings.defect)
        if all(arm.page_size == 1 for arm in arms):
            raise CannotMeasure(
                f"defect {settings.defect}: expected a page size beside 1, which stays"
                " sound to compare with. Next: give PAGE=16"
            )
    if not (settings.model / "config.json").is_file():
        raise CannotMeasure(
            f"model {settings.model}: expected a folder with config.json, there is"
            " none. Next: give MODEL=/path/to/model, or leave it out for the tiny model"
        )
    pick_port(settings.port)
    return arms


def _page_size_at(url: str) -> int:
    return int(Endpoint(url).info()["page_size"])


def _require_no_server_settings(settings: Settings) -> None:
    """Refuse what only a server that this run starts could obey."""
    given = {
        "DEFECT": settings.defect,
        "BASELINE": settings.tree,
        "ARGS or TP": settings.server_arguments,
        "PORT": settings.port,
    }
    for name, value in given.items():
        if value:
            raise CannotMeasure(
                f"BASE_URLS with {name}: expected one or the other, since those servers"
                f" already run. Next: leave {name} out"
            )
