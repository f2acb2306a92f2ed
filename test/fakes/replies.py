"""What a fake server gives back for one question, by mode.

`sound` gives gsm_tiny's own answers, from the data. The others, for every question or
for the chosen ones only:

- with an answer: `empty`, `null-text`, `same-text`, `wrong-at-16`, `truncates` (in the
  middle), `truncates-late` (nothing lost), `no-usage`
- without: `fails` (500), `recovers` (500 twice, then the answer), `busy` (429 once),
  `refuses` (400), `moves` (302), `no-choices`, `two-choices`, `number-text`,
  `aborts`, `broken-json`
- on the connection: `resets`, `slow`, `three-at-once` (to be answered at all)
- for the whole server: `dies-when-asked`, `dies-mid-run`
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.gsm8k.dataset import DATA_DIR, read_split

QUESTIONS_BEFORE_DEATH = 5
SLOW_S = 3.0
SAME_TEXT = " It is 7.\n#### 7"


@dataclass(frozen=True)
class Reply:
    """A reply, or what is done in place of one."""

    content: str = ""
    status: int = 200
    after_s: float = 0.0
    resets: bool = False
    dies: bool = False


class Replies:
    """The replies of one server, and the requests that it got.

    Attributes:
        asked: bodies in the order of arrival.
        most_at_once: of those waiting for `three-at-once`.
    """

    def __init__(
        self, mode: str, page_size: int = 1, only: Collection[int] | None = None
    ) -> None:
        self.asked: list[dict[str, Any]] = []
        self.most_at_once = 0
        self._mode = mode
        self._page_size = page_size
        self._only = only
        self._tries: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._at_once = 0
        self._three = threading.Barrier(3, timeout=SLOW_S)
        problems = read_split(DATA_DIR, "test")
        self._answers = [problem["answer"] for problem in problems]
        self._numbers = {p["question"]: n for n, p in enumerate(problems)}

    def reply(self, body: Mapping[str, Any]) -> Reply:
        number = self.number(body)
        with self._lock:
            self.asked.append(dict(body))
            self._tries[number] += 1
            late = len(self.asked) > QUESTIONS_BEFORE_DEATH
        if self._mode == "dies-when-asked" or (self._mode == "dies-mid-run" and late):
            return Reply(dies=True)
        if self._mode == "three-at-once":
            self._meet()
        if self._only is not None and number not in self._only:
            return self._completion(number, "sound")
        return self._odd(number) or self._completion(number, self._mode)

    def number(self, body: Mapping[str, Any]) -> int:
        """The question's place in the test split; -1 if it is none of them."""
        question = str(body.get("prompt", "")).rpartition("Question: ")[2]
        return self._numbers.get(question.removesuffix("\nAnswer:"), -1)

    def _meet(self) -> None:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        self._three.wait()
        with self._lock:
            self._at_once -= 1

    def _odd(self, number: int) -> Reply | None:
        """What holds no completion at all, in the modes that give such a thing."""
        match self._mode:
            case "resets":
                return Reply(resets=True)
            case "fails":
                return Reply("out of order, as it were", status=500)
            case "refuses":
                return Reply("not like this, as it were", status=400)
            case "moves":
                return Reply("elsewhere, as it were", status=302)
            case "recovers" if self._tries[number] <= 2:
                return Reply("soon, as it were", status=500)
            case "busy" if self._tries[number] <= 1:
                return Reply("later, as it were", status=429)
            case "no-choices":
                return Reply('{"error": "as it were"}')
        return None

    def _completion(self, number: int, mode: str) -> Reply:
        text = " " + (self._answers[number] if number >= 0 else "")
        choice: dict[str, Any] = {"index": 0, "text": text, "finish_reason": "stop"}
        usage = {"prompt_tokens": 500 + number, "completion_tokens": len(text)}
        reply = {"choices": [choice], "usage": usage}
        match mode:
            case "empty":
                choice["text"] = " "
            case "null-text":
                choice["text"] = None
            case "number-text":
                choice["text"] = 7
            case "same-text":
                choice["text"] = SAME_TEXT
            case "wrong-at-16" if self._page_size == 16:
                choice["text"] = " #### 1000000"
            case "truncates":
                choice |= {"text": text[: len(text) // 2], "finish_reason": "length"}
            case "truncates-late":
                choice["finish_reason"] = "length"
            case "aborts":
                choice["finish_reason"] = "abort"
            case "two-choices":
                reply["choices"] = [choice, choice]
            case "no-usage":
                del reply["usage"]
        content = json.dumps(reply)
        if mode == "broken-json":
            content = content[:-2]
        return Reply(content, after_s=SLOW_S if mode == "slow" else 0)
