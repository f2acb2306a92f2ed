"""Tables that no producer test makes, and the release that has each table first."""

from __future__ import annotations

from typing import NamedTuple

from producers.contract import COUNT, FULL, NONE, PAGE, SLOT, TOKENS, WINDOW_POOL, Table

# Read in SGLang 0.5.23.
BY_READING = (
    Table(
        name="out_cache_loc",
        producer="alloc_for_extend, alloc_for_decode",
        consumer="the KV write, _forward_extend_asm_no_prefix",
        unit=SLOT,
        dtype="int64",
        pool=FULL,
        live="new tokens of the batch",
        tail="none; a graph's is padded with slot 0",
    ),
    Table(
        name="swa_out_cache_loc",
        producer="translate_loc_from_full_to_swa",
        consumer="the KV write of layers with a window",
        unit=SLOT,
        dtype="int64",
        pool=WINDOW_POOL,
        live="new tokens of the batch",
        tail="an earlier batch's, in the graph's buffer",
    ),
    Table(
        name="full_to_swa_index_mapping",
        producer="SWATokenToKVPoolAllocator",
        consumer="translate_loc_from_full_to_swa, the scatter kernels",
        unit=SLOT,
        dtype="int64",
        pool="full, to window",
        live="slots of the full pool",
        tail="none",
    ),
    Table(
        name="kv_last_page_len",
        producer="AiterAttnBackend, all ones",
        consumer="paged_attention_ragged",
        unit=COUNT,
        dtype="int32",
        pool=NONE,
        live="bs",
        tail="ones",
        page_size="1, the kernel's block size at every page size of the pool",
    ),
    Table(
        name="qo_indptr_unified_decode",
        producer="AiterAttnBackend, 0, 1, 2, ...",
        consumer="unified_attention",
        unit=TOKENS,
        dtype="int32",
        pool=NONE,
        live="bs + 1: one query token each",
        tail="goes on counting",
    ),
    Table(
        name="qo_indptr (verify, draft extend)",
        producer="_build_verify_unified_metadata, _set_uniform_qo_indptr",
        consumer="unified_attention, mha_batch_prefill_func",
        unit=TOKENS,
        dtype="int32",
        pool=NONE,
        live="bs + 1, in steps of the draft tokens of a request",
        tail="an earlier batch's",
    ),
    Table(
        name="kv_indices (verify, not unified)",
        producer="create_flashinfer_kv_indices_triton",
        consumer="extend_attention_fwd, which has the drafts' K and V beside it",
        unit=SLOT,
        dtype="int64",
        pool=FULL,
        live="sum of seq_lens, without the drafts",
        tail="none; an earlier batch's in a graph, where it is int32",
    ),
    Table(
        name="mask_indptr",
        producer="init_forward_metadata",
        consumer="extend_attention_fwd",
        unit="offset in mask entries",
        dtype="int64",
        pool=NONE,
        live="bs + 1, in steps of drafts * (seq_len + drafts)",
        tail="an earlier batch's",
    ),
    Table(
        name="draft kv_indptr",
        producer="generate_draft_decode_kv_indices",
        consumer="spec_info of each draft step, then as in decode",
        unit=TOKENS,
        dtype="int32",
        pool=NONE,
        live="bs * topk + 1, in the row of each step",
        tail="an earlier batch's",
    ),
    Table(
        name="draft kv_indices",
        producer="generate_draft_decode_kv_indices",
        consumer="spec_info of each draft step, then as in decode",
        unit=SLOT,
        dtype="int32",
        pool=FULL,
        live="topk * (sum of seq_lens + bs * step), in the row of each step",
        tail="not written, or an earlier batch's in a graph",
        page_size="any; told to the kernel, which finds the drafts' slots by it",
    ),
    Table(
        name="cuda_graph_page_table, cuda_graph_swa_page_table",
        producer="_apply_cuda_graph_metadata, the scatter kernels",
        consumer="unified_attention, pa_decode_gluon",
        unit=PAGE,
        dtype="int32",
        pool="full, window",
        live="ceil(seq_len / page_size), in each row of ceil(context_len / page_size)",
        tail="page 0, or an earlier batch's",
        page_size="above 1; at 1 a page is a slot",
    ),
)


class Since(NamedTuple):
    """A release whose `aiter_backend.py` is the first to have all of `names`.

    `part` says of which part of a table that holds, if not of all.
    """

    release: str
    names: tuple[str, ...]
    part: str = ""


_FIRST = "0.5.19"
_VIEW = (Since("0.5.21", ("_build_paged_kv_view", "paged_kv_view")),)
_REUSE = "0.5.21"
_UNIFIED = (
    Since(_FIRST, ("_transform_table_1_to_real", "_build_verify_unified_metadata")),
    Since("0.5.20", ("_build_extend_unified_page_table",), "extend"),
)
SINCE: dict[str, tuple[Since, ...]] = {
    "req_to_token": (Since(_FIRST, ("req_to_token",)),),
    "kv_indptr": (Since(_FIRST, ("AiterIndicesUpdaterPrefill", "kv_indptr")),),
    "kv_indices": (
        Since(
            _FIRST,
            ("AiterIndicesUpdaterPrefill", "create_flashinfer_kv_indices_triton"),
        ),
    ),
    "qo_indptr": (Since(_FIRST, ("AiterIndicesUpdaterPrefill", "qo_indptr")),),
    "asm_ctx_tok_idx": (
        Since(_FIRST, ("_asm_context_prefill_gather_indices",), "in each layer"),
        Since(_REUSE, ("_asm_context_prefill_indices", "asm_ctx_tok_idx"), "per batch"),
    ),
    "asm_ctx_cu_k": (
        Since(_FIRST, ("_asm_context_prefill_gather_indices",), "in each layer"),
        Since(_REUSE, ("_asm_context_prefill_indices", "asm_ctx_cu_k"), "per batch"),
    ),
    "paged_kv_view[0]": _VIEW,
    "paged_kv_view[1]": _VIEW,
    "paged_kv_view[2]": _VIEW,
    "swa_page_table (extend)": (
        Since(_FIRST, ("swa_page_table", "translate_loc_from_full_to_swa")),
    ),
    "kv_indptr (decode)": (Since(_FIRST, ("paged_attention_ragged", "kv_indptr")),),
    "kv_indices (decode)": (
        Since(_FIRST, ("paged_attention_ragged", "_get_kv_indices_scratch")),
    ),
    "cuda_graph_kv_indices": (Since(_FIRST, ("cuda_graph_kv_indices",)),),
    "page table (decode, extend, speculative)": _UNIFIED,
    "swa_page_table (decode, extend, speculative)": _UNIFIED,
    "out_cache_loc": (Since(_FIRST, ("out_cache_loc",)),),
    "swa_out_cache_loc": (Since(_FIRST, ("swa_out_cache_loc",)),),
    "full_to_swa_index_mapping": (Since(_FIRST, ("full_to_swa_index_mapping",)),),
    "kv_last_page_len": (Since(_FIRST, ("kv_last_page_len",)),),
    "qo_indptr_unified_decode": (Since(_FIRST, ("qo_indptr_unified_decode",)),),
    "qo_indptr (verify, draft extend)": (
        Since(_FIRST, ("_build_verify_unified_metadata", "_set_uniform_qo_indptr")),
    ),
    "kv_indices (verify, not unified)": (Since(_FIRST, ("extend_attention_fwd",)),),
    "mask_indptr": (Since(_FIRST, ("mask_indptr", "custom_mask")),),
    "draft kv_indptr": (
        Since(
            _FIRST, ("AiterMultiStepDraftBackend", "generate_draft_decode_kv_indices")
        ),
    ),
    "draft kv_indices": (
        Since(
            _FIRST, ("AiterMultiStepDraftBackend", "generate_draft_decode_kv_indices")
        ),
    ),
    "cuda_graph_page_table, cuda_graph_swa_page_table": (
        Since(_FIRST, ("cuda_graph_page_table", "cuda_graph_swa_page_table")),
    ),
}
