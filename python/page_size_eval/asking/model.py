"""The server as a model of lm-eval, which keeps prompts, filters and scoring."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, NoReturn

from lm_eval.api.model import LM

from page_size_eval.asking.one_pass import OnePass
from page_size_eval.asking.request import build_request


class CompletionsModel(LM):
    """Generates through /v1/completions; a question without an answer gets ""."""

    def __init__(self, one_pass: OnePass) -> None:
        super().__init__()
        self._pass = one_pass
        self._stderr = sys.stderr

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> Any:
        """The texts for lm-eval's instances, in their order.

        Raises:
            CannotMeasure: as `OnePass.run`.
        """
        asked = [build_request(r.doc_id, *r.args) for r in requests]
        # lm-eval's own output is held back, what our caller shows is not.
        with contextlib.redirect_stderr(self._stderr):
            self._pass.run(asked)
        return [self._pass.answers[request.doc_id].text for request in asked]

    def loglikelihood(self, requests: list[Any]) -> NoReturn:
        raise NotImplementedError(
            "loglikelihood: SGLang's /v1/completions does not give a prompt's"
            " log-probabilities in the form that lm-eval reads"
        )

    def loglikelihood_rolling(self, requests: list[Any]) -> NoReturn:
        self.loglikelihood(requests)
