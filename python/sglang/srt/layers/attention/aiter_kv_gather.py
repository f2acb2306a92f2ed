"""Gathers the K and V rows of a batch out of the paged KV pool, in one launch.

`index_select` on the byte view that fp8 needs works element by element: at rows of
256 B it takes as long as at 512 B. Here every thread moves 16 bytes at a time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

try:
    import triton
    import triton.language as tl
except ImportError:  # A CPU build of torch: the fallback below serves.
    triton = None

_WARP_SIZE = 64 if torch.version.hip else 32
_WORDS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}

# The binary by all that it depends on: Triton's own look-up takes the host longer
# than the rest of the call. Measured, and used, on CUDA alone.
_compiled: dict[tuple[Any, ...], Any] = {}

_RUNTIME_ARGUMENTS = ("k_cache", "v_cache", "tok_idx", "k_out", "v_out", "total_k")

if triton is not None:
    _TRITON_WORDS = {8: tl.int64, 4: tl.int32, 2: tl.int16, 1: tl.uint8}

    # Specialised on no runtime argument: one binary serves every batch of a pool, so
    # that nothing compiles in mid-service and `_compiled` may keep it. What the
    # compiler has to know about alignment is in ALIGNED and the strides.
    @triton.jit(do_not_specialize=_RUNTIME_ARGUMENTS)
    def _gather_kv_kernel(  # type: ignore[no-untyped-def]
        k_cache,
        v_cache,
        tok_idx,
        k_out,
        v_out,
        total_k,
        WORD: tl.constexpr,
        ALIGNED: tl.constexpr,
        K_STRIDE: tl.constexpr,
        V_STRIDE: tl.constexpr,
        K_WORDS: tl.constexpr,
        V_WORDS: tl.constexpr,
        BLOCK_TOKENS: tl.constexpr,
        BLOCK_K: tl.constexpr,
        BLOCK_V: tl.constexpr,
    ):
        # Cast here, since triton.reinterpret costs the host 1 us a tensor.
        pointer: tl.constexpr = tl.pointer_type(WORD)
        k_cache = tl.multiple_of(k_cache.to(pointer), ALIGNED)
        v_cache = tl.multiple_of(v_cache.to(pointer), ALIGNED)
        k_out = tl.multiple_of(k_out.to(pointer), ALIGNED)
        v_out = tl.multiple_of(v_out.to(pointer), ALIGNED)
        token = tl.program_id(0).to(tl.int64) * BLOCK_TOKENS
        token += tl.arange(0, BLOCK_TOKENS)
        live = token < total_k
        # 64 bits before the multiply: a pool is larger than 2 GiB per layer.
        slot = tl.load(tok_idx + token, mask=live, other=0).to(tl.int64)
        k_word = tl.arange(0, BLOCK_K)[None, :]
        v_word = tl.arange(0, BLOCK_V)[None, :]
        k_live = live[:, None] & (k_word < K_WORDS)
        v_live = live[:, None] & (v_word < V_WORDS)
        # Both loads are in flight before the first store waits.
        k = tl.load(k_cache + (slot * K_STRIDE)[:, None] + k_word, mask=k_live)
        v = tl.load(v_cache + (slot * V_STRIDE)[:, None] + v_word, mask=v_live)
        tl.store(k_out + (token * K_WORDS)[:, None] + k_word, k, mask=k_live)
        tl.store(v_out + (token * V_WORDS)[:, None] + v_word, v, mask=v_live)


def gather_kv(
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    tok_idx: torch.Tensor,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows `tok_idx` of both caches, contiguous and byte for byte.

    Needs `total_k * (K row bytes + V row bytes)` of memory, which the caching
    allocator hands from one layer to the next; nothing is kept here.

    Args:
        k_cache: [slots, k heads, k dim], any one- or two-byte dtype. Dim 0 may be
            strided.
        v_cache: [slots, v heads, v dim], likewise; its widths may differ from K's.
        tok_idx: [total_k] int32 or int64 slots, within the pool: not checked here.
        out: contiguous buffers to write instead of new ones.

    Returns:
        ([total_k, k heads, k dim], [total_k, v heads, v dim]).

    Raises:
        ValueError: naming the argument that does not fit the above.
    """
    _layout_of("k_cache", k_cache)
    _layout_of("v_cache", v_cache)
    _require_indices(tok_idx)
    total_k = tok_idx.shape[0]
    if out is None:
        k_out = k_cache.new_empty(total_k, *k_cache.shape[1:])
        v_out = v_cache.new_empty(total_k, *v_cache.shape[1:])
    else:
        k_out, v_out = out
        _require_buffer("k", k_out, k_cache, total_k)
        _require_buffer("v", v_out, v_cache, total_k)
    if total_k == 0:
        return k_out, v_out
    if triton is None or tok_idx.device.type == "cpu":
        _gather_kv_torch(k_cache, v_cache, tok_idx, k_out, v_out)
    else:
        _gather_kv_triton(k_cache, v_cache, tok_idx, k_out, v_out)
    return k_out, v_out


def _layout_of(name: str, cache: torch.Tensor) -> tuple[int, int]:
    """Bytes of a row [heads, dim], and from one row to the next."""
    return _row_layout(name, cache.shape, cache.stride(), cache.dtype)


@lru_cache(maxsize=64)  # Asked for the same pools in every layer of every batch.
def _row_layout(
    name: str, shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype
) -> tuple[int, int]:
    if len(shape) != 3 or dtype.itemsize > 2:
        raise ValueError(
            f"{name}: expected [slots, heads, dim] of a one- or two-byte dtype,"
            f" got {tuple(shape)} of {dtype}"
        )
    _, heads, dim = shape
    if (dim > 1 and stride[2] != 1) or (heads > 1 and stride[1] != dim):
        raise ValueError(
            f"{name}: expected rows [heads, dim] that are contiguous in memory, got"
            f" shape {tuple(shape)} with stride {stride}; only dim 0 may be strided"
        )
    return heads * dim * dtype.itemsize, stride[0] * dtype.itemsize


def _require_indices(tok_idx: torch.Tensor) -> None:
    if tok_idx.dim() != 1 or not tok_idx.is_contiguous():
        raise ValueError(
            "tok_idx: expected a contiguous [total_k] tensor, got shape"
            f" {tuple(tok_idx.shape)} with stride {tok_idx.stride()}"
        )
    if tok_idx.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"tok_idx: expected int32 or int64, got {tok_idx.dtype}")


def _require_buffer(
    name: str, buffer: torch.Tensor, cache: torch.Tensor, total_k: int
) -> None:
    shape = (total_k, *cache.shape[1:])
    if (
        buffer.shape != shape
        or buffer.dtype != cache.dtype
        or not buffer.is_contiguous()
    ):
        raise ValueError(
            f"out: expected a contiguous {shape} {cache.dtype} buffer for {name}, got"
            f" {tuple(buffer.shape)} {buffer.dtype} with stride {buffer.stride()}"
        )


def _common_power_of_2(*byte_counts: int) -> int:
    """Largest power of two, up to 16, that divides every count."""
    bits = 16
    for count in byte_counts:
        bits |= count
    return bits & -bits


def _gather_kv_torch(
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    tok_idx: torch.Tensor,
    k_out: torch.Tensor,
    v_out: torch.Tensor,
) -> None:
    # Through integer words: torch has no index_select for fp8, and the time goes
    # with the number of words.
    for cache, rows in ((k_cache, k_out), (v_cache, v_out)):
        aligned = _common_power_of_2(
            *_layout_of("cache", cache), cache.data_ptr(), rows.data_ptr()
        )
        word = _WORDS[min(8, aligned)]
        torch.index_select(
            cache.flatten(1).view(word), 0, tok_idx, out=rows.flatten(1).view(word)
        )


def _launch_shape(total_bytes: int, row_bytes: int) -> tuple[int, int]:
    """(tokens, threads) per program, for `total_bytes` of K plus V."""
    # Measured on an H200, rows of 128 to 2048 B (benchmark/kv_gather/NOTES.md). In
    # general 16 bytes of K and of V per thread are within 2% of the best shape. From
    # 8 to 20 MiB that takes a second round of programs that fills part of the chip:
    # four times the work per thread fits one round, 16 MiB in 11.0 us instead of 11.4.
    if 8 * 2**20 < total_bytes <= 20 * 2**20:
        vectors, threads = 4, 256
    else:
        vectors, threads = 1, 128
    return max(1, vectors * threads * 16 // row_bytes), threads


def _gather_kv_triton(
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    tok_idx: torch.Tensor,
    k_out: torch.Tensor,
    v_out: torch.Tensor,
    shape: tuple[int, int] | None = None,
) -> None:
    """Launch the kernel, with (tokens, threads) per program as `shape` if given."""
    total_k = tok_idx.shape[0]
    aligned = _common_power_of_2(
        *(t.data_ptr() for t in (k_cache, v_cache, k_out, v_out))
    )
    layouts = _layout_of("k_cache", k_cache), _layout_of("v_cache", v_cache)
    word, constants, grid, warps = _specialisation(layouts, aligned, total_k, shape)
    dtypes = (k_cache.dtype, v_cache.dtype, tok_idx.dtype)
    key = (tok_idx.get_device(), dtypes, word, warps, constants)
    args = (k_cache, v_cache, tok_idx, k_out, v_out, total_k)
    args += (_TRITON_WORDS[word], *constants)
    compiled = None if torch.version.hip else _compiled.get(key)
    if compiled is None:
        _compiled[key] = _gather_kv_kernel[grid](*args, num_warps=warps)
    else:
        compiled[grid](*args)


@lru_cache(maxsize=64)  # The same for all layers of a batch.
def _specialisation(
    layouts: tuple[tuple[int, int], tuple[int, int]],
    aligned: int,
    total_k: int,
    shape: tuple[int, int] | None,
) -> tuple[int, tuple[int, ...], tuple[int, int, int], int]:
    """(word bytes, constants from ALIGNED on, grid, warps of a program).

    Args:
        layouts: of K and of V, as `_row_layout` gives them.
        aligned: power of two that divides every address.
    """
    (k_row, k_stride), (v_row, v_stride) = layouts
    aligned = _common_power_of_2(aligned, k_row, v_row, k_stride, v_stride)
    word = min(8, aligned)
    k_words, v_words = k_row // word, v_row // word
    block_k, block_v = _power_of_2(k_words), _power_of_2(v_words)
    tokens, threads = shape or _launch_shape(
        total_k * (k_row + v_row), min(block_k, block_v) * word
    )
    strides = (k_stride // word, v_stride // word)
    blocks = (tokens, block_k, block_v)
    constants = (aligned, *strides, k_words, v_words, *blocks)
    grid = (-(-total_k // tokens), 1, 1)
    return word, constants, grid, max(1, threads // _WARP_SIZE)


def _power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length()
