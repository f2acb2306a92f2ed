"""The helper refuses or is right, whatever it is given."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st

from producers.platform import load_aiter_backend
from properties.profile import examples
from properties.reference import Gathered, Refused, gather_indices
from properties.tables import Batch, batches, warnings_of

aiter_backend: Any = load_aiter_backend()

small = st.integers(-2, 12)
dtypes = st.sampled_from([torch.int32, torch.int64])


def gather(*args: Any) -> Any:
    return aiter_backend._asm_context_prefill_gather_indices(*args)


def require(got: Any, want: Gathered | Refused, messages: list[str], bs: int) -> None:
    """The result of a call and all that it logged, against the reference."""
    warned = []
    if want.excess:
        warned.append(
            "[asm-context-prefill] seq_lens cut to their kv_indices rows:"
            f" longest excess {want.excess} tokens (mode=SOME bs={bs})"
        )
    if isinstance(want, Refused):
        assert got is None, (got, want)
        warned.append(
            "[asm-context-prefill] falling back to the paged kernel: "
            f"{want.reason} (value={want.value} limit={want.limit} mode=SOME bs={bs})"
        )
    else:
        tok_idx, cu_k = got
        assert (tok_idx.dtype, cu_k.dtype) == (torch.int64, torch.int64)
        assert tok_idx.tolist() == want.slots
        assert cu_k.tolist() == want.cu_k
    assert messages == warned


@examples(400)
@given(
    kv_indptr=st.lists(small, min_size=1, max_size=5),
    table=st.lists(small, max_size=12),
    lens=st.lists(small, max_size=4),
    num_slots=st.integers(0, 12),
    dtype=dtypes,
)
@example(kv_indptr=[0], table=[], lens=[], num_slots=0, dtype=torch.int32)
@example(kv_indptr=[0, 0], table=[], lens=[0], num_slots=0, dtype=torch.int64)
@example(kv_indptr=[0, 2], table=[0, 7], lens=[2], num_slots=8, dtype=torch.int32)
@example(kv_indptr=[0, 2], table=[0, 8], lens=[2], num_slots=8, dtype=torch.int32)
def test_anything_at_all_is_refused_or_right(
    kv_indptr: list[int],
    table: list[int],
    lens: list[int],
    num_slots: int,
    dtype: torch.dtype,
) -> None:
    want = gather_indices(kv_indptr, table, lens, num_slots)
    counts = aiter_backend._asm_context_prefill_counts
    counts.clear()
    with warnings_of(aiter_backend) as messages:
        got = gather(
            torch.tensor(kv_indptr, dtype=dtype),
            torch.tensor(table, dtype=dtype),
            torch.tensor(lens, dtype=torch.int64),
            num_slots,
            "SOME",
        )
    require(got, want, messages, len(kv_indptr) - 1)
    reasons = [want.reason] if isinstance(want, Refused) else []
    assert dict(counts) == dict.fromkeys(reasons, 1)


@examples(400)
@given(
    rows=st.lists(st.integers(0, 5), min_size=1, max_size=5),
    start=st.integers(0, 3),
    deltas=st.lists(st.integers(-5, 3), min_size=5, max_size=5),
    short=st.integers(-2, 3),
    data=st.data(),
)
def test_near_misses_are_refused_or_right(
    rows: list[int], start: int, deltas: list[int], short: int, data: st.DataObject
) -> None:
    """Rows that mostly fit: lengths, the table's end and slots are off by a little."""
    kv_indptr = [start]
    for n in rows:
        kv_indptr.append(kv_indptr[-1] + n)
    size = max(0, kv_indptr[-1] + short)
    slot = st.sampled_from([0, 1, 5, 6, 7] * 4 + [8, -1])
    table = data.draw(st.lists(slot, min_size=size, max_size=size))
    lens = [n + d if d < 3 else n for n, d in zip(rows, deltas, strict=False)]
    want = gather_indices(kv_indptr, table, lens, 8)
    with warnings_of(aiter_backend) as messages:
        got = gather(
            torch.tensor(kv_indptr, dtype=torch.int32),
            torch.tensor(table, dtype=torch.int32),
            torch.tensor(lens),
            8,
            "SOME",
        )
    require(got, want, messages, len(rows))


@examples(150)
@given(batch=batches())
def test_every_token_is_gathered_from_its_slot(batch: Batch) -> None:
    with warnings_of(aiter_backend) as messages:
        tok_idx, cu_k = gather(
            batch.kv_indptr, batch.kv_indices, batch.seq_lens, batch.num_slots
        )
    assert tok_idx.tolist() == batch.slots
    assert (cu_k[1:] - cu_k[:-1]).tolist() == batch.lens
    assert not messages


@examples(100)
@given(batch=batches(min_rows=1), data=st.data())
def test_one_hostile_entry_is_refused_wherever_it_is(
    batch: Batch, data: st.DataObject
) -> None:
    assume(batch.slots)
    position = data.draw(st.integers(0, len(batch.slots) - 1))
    past = st.integers(batch.num_slots, 2**31 - 1)
    hostile = data.draw(st.one_of(st.integers(-(2**31), -1), past))
    batch.kv_indices[position] = hostile
    with warnings_of(aiter_backend) as messages:
        got = gather(batch.kv_indptr, batch.kv_indices, batch.seq_lens, batch.num_slots)
    assert got is None
    assert len(messages) == 1 and f"value={hostile} " in messages[0], messages


@examples(50)
@given(slot=st.integers(2**31 - 4, 2**40), room=st.integers(-2, 2))
def test_slots_beyond_int32_are_held_against_the_pool(slot: int, room: int) -> None:
    got = gather(
        torch.tensor([0, 2]),
        torch.tensor([5, slot]),
        torch.tensor([2]),
        slot + room,
        "SOME",
    )
    assert (got is not None) == (room > 0)
    if got is not None:
        assert got[0].tolist() == [5, slot]


@examples(50)
@given(batch=batches(min_rows=1))
def test_inputs_are_left_as_they_were(batch: Batch) -> None:
    before = [t.clone() for t in (batch.kv_indptr, batch.kv_indices, batch.seq_lens)]
    gather(batch.kv_indptr, batch.kv_indices, batch.seq_lens, batch.num_slots)
    after = (batch.kv_indptr, batch.kv_indices, batch.seq_lens)
    assert all(map(torch.equal, before, after))


@examples(30)
@given(batch=batches())
def test_all_is_made_on_the_tables_device(batch: Batch) -> None:
    """Not on torch's default device, which has no storage here."""
    with torch.device("meta"):
        got = gather(batch.kv_indptr, batch.kv_indices, batch.seq_lens, batch.num_slots)
    assert got is not None
    assert {part.device for part in got} == {batch.kv_indices.device}
    assert got[0].tolist() == batch.slots
