"""The body of a request, beyond what gsm8k's own settings reach."""

from __future__ import annotations

from page_size_eval.asking.request import build_request, pause_exponentially


def test_settings_that_lm_eval_leaves_out_get_its_defaults() -> None:
    request = build_request(7, "Question: ?", {"max_gen_toks": 5, "do_sample": False})
    assert request.body == {
        "prompt": "Question: ?",
        "max_tokens": 5,
        "temperature": 0,
        "stop": [],
        "seed": 1234,
    }


def test_other_settings_go_along_and_change_the_hash() -> None:
    plain = {"max_gen_toks": 5, "temperature": 0.5, "until": "Q:"}
    request = build_request(7, "Question: ?", {**plain, "top_p": 0.9})
    assert (request.body["temperature"], request.body["top_p"]) == (0.5, 0.9)
    assert request.body["stop"] == ["Q:"]
    assert request.request_hash != build_request(7, "Question: ?", plain).request_hash


def test_pauses_grow_up_to_a_limit() -> None:
    assert [pause_exponentially(n) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]
