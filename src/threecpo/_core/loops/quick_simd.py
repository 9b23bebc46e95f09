"""Inner loops of quick scores in vector instructions: sixteen at a time, less exact.

Products and sums may be fused where a processor can: whoever uses them allows for that.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from .compiling import i8

QUICK_LANES = 16
# A row of scores is one vector, or whole pairs of them.
PAIR_LANES = 2 * QUICK_LANES
# So many sums take turns that no addition waits for the one before.
SUMS = 4

_FLOAT, _LONG, _INDEX = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_FLOAT, QUICK_LANES)
_MASK = ir.IntType(QUICK_LANES)
_FUSED = ("contract",)


def _spread(builder: Any, value: Any) -> Any:
    """Vector of one value in all lanes."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    lone = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
    first_places = ir.Constant(ir.VectorType(_INDEX, QUICK_LANES), [0] * QUICK_LANES)
    return builder.shuffle_vector(lone, undefined, first_places)


def _vector_at(builder: Any, start: Any, place: Any) -> Any:
    """Pointer to the vector that begins at this place."""
    return builder.bitcast(builder.gep(start, [place]), _VECTOR.as_pointer())


def _starts(context: Any, builder: Any, signature: Any, args: Any, n: int) -> list[Any]:
    """Where the first n arguments, arrays, begin."""
    kinds = zip(signature.args[:n], args[:n], strict=True)
    return [make_array(kind)(context, builder, array).data for kind, array in kinds]


def _adding(n_vectors: int) -> Any:
    """Make the loop over the entries of a row that adds up this many vectors."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add_entries(
        _typing: Any,
        table: Any,
        places: Any,
        indices: Any,
        data: Any,
        out: Any,
        first: Any,
        end: Any,
        lane: Any,
    ) -> Any:
        """Write the sums of data[t] table[places[indices[t]] + lane + …] to ``out``.

        Over t from first to end, to ``out[lane]`` and behind it.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            starts = _starts(context, builder, signature, args, 5)
            first, end, lane = args[5:]
            chains = _sums_of_entries(builder, starts, (first, end, lane), n_vectors)
            for number in range(n_vectors):
                parts = [builder.load(chain[number]) for chain in chains]
                total = reduce(builder.fadd, parts)
                place = builder.add(lane, _LONG(number * QUICK_LANES))
                builder.store(total, _vector_at(builder, starts[4], place), align=4)
            nothing = context.get_dummy_value()
            return impl_ret_untracked(context, builder, types.void, nothing)

        arrays = table, places, indices, data, out
        return types.void(*arrays, first, end, lane), generate

    return add_entries


def _sums_of_entries(
    builder: Any, starts: list[Any], bounds: tuple[Any, Any, Any], n_vectors: int
) -> list[list[Any]]:
    """Generate the loop over entries; return where its sums are."""
    first, end, lane = bounds
    zero = ir.Constant(_VECTOR, [0.0] * QUICK_LANES)
    chains = [
        [cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)]
        for _ in range(SUMS // n_vectors)
    ]
    step = _LONG(len(chains))
    beyond = builder.urem(builder.sub(end, first), step)
    whole = builder.sub(end, beyond)
    with cgutils.for_range_slice(builder, first, whole, step, _LONG) as (entry, _):
        for number, sums in enumerate(chains):
            t = builder.add(entry, _LONG(number))
            _add_entry(builder, starts, t, lane, sums)
    with cgutils.for_range_slice(builder, whole, end, _LONG(1), _LONG) as (entry, _):
        _add_entry(builder, starts, entry, lane, chains[0])
    return chains


def _add_entry(
    builder: Any, starts: list[Any], t: Any, lane: Any, sums: list[Any]
) -> None:
    """Generate what adds one entry to sums."""
    table, places, indices, data, _ = starts
    value = builder.fptrunc(builder.load(builder.gep(data, [t])), _FLOAT)
    column = builder.zext(builder.load(builder.gep(indices, [t])), _LONG)
    at = builder.zext(builder.load(builder.gep(places, [column])), _LONG)
    at, times = builder.add(at, lane), _spread(builder, value)
    for number, total in enumerate(sums):
        place = builder.add(at, _LONG(number * QUICK_LANES))
        row = builder.load(_vector_at(builder, table, place), align=4)
        product = builder.fmul(times, row, flags=_FUSED)
        added = builder.fadd(builder.load(total), product, flags=_FUSED)
        builder.store(added, total)


add_one_vector = _adding(1)
add_two_vectors = _adding(2)


@intrinsic  # type: ignore[untyped-decorator]
def add_offsets(_typing: Any, scores: Any, offsets: Any, weights: Any, by: Any) -> Any:
    """Add offsets, and weights times a number, to scores; return the largest.

    All three are whole vectors.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        starts = _starts(context, builder, signature, args, 3)
        scores_at, offsets_at, weights_at = starts
        times = _spread(builder, args[3])
        least = ir.Constant(_VECTOR, [float("-inf")] * QUICK_LANES)
        largest = cgutils.alloca_once_value(builder, least)
        with _vectors(context, builder, signature, args) as (lane, _):
            at = _vector_at(builder, scores_at, lane)
            more = builder.load(_vector_at(builder, offsets_at, lane), align=4)
            weight = builder.load(_vector_at(builder, weights_at, lane), align=4)
            product = builder.fmul(times, weight, flags=_FUSED)
            own = builder.fadd(builder.load(at, align=4), product, flags=_FUSED)
            total = builder.fadd(own, more)
            builder.store(total, at, align=4)
            before = builder.load(largest)
            higher = builder.fcmp_ordered(">", total, before)
            builder.store(builder.select(higher, total, before), largest)
        kind = ir.FunctionType(_FLOAT, [_VECTOR])
        name = f"llvm.vector.reduce.fmax.v{QUICK_LANES}f32"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, [builder.load(largest)], fastmath=("nnan",))

    return types.float32(scores, offsets, weights, by), generate


@intrinsic  # type: ignore[untyped-decorator]
def only_above(_typing: Any, scores: Any, least: Any) -> Any:
    """Return the lane of the only score of at least this, -1 if there are others."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (scores_at,) = _starts(context, builder, signature, args, 1)
        found = cgutils.alloca_once_value(builder, _LONG(0))
        place = cgutils.alloca_once_value(builder, _LONG(0))
        limit = _spread(builder, args[1])
        with _vectors(context, builder, signature, args) as (lane, _):
            total = builder.load(_vector_at(builder, scores_at, lane), align=4)
            above = builder.fcmp_ordered(">=", total, limit)
            mask = builder.zext(builder.bitcast(above, _MASK), _LONG)
            more = builder.ctpop(mask)
            builder.store(builder.add(builder.load(found), more), found)
            here = builder.add(lane, builder.cttz(mask, ir.Constant(ir.IntType(1), 0)))
            some = builder.icmp_unsigned("!=", mask, _LONG(0))
            builder.store(builder.select(some, here, builder.load(place)), place)
        lone = builder.icmp_unsigned("==", builder.load(found), _LONG(1))
        return builder.select(lone, builder.load(place), _LONG(-1))

    return i8(scores, least), generate


def _vectors(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Loop over the vectors of the first argument."""
    array = make_array(signature.args[0])(context, builder, args[0])
    end, step = array.nitems, _LONG(QUICK_LANES)
    return cgutils.for_range_slice(builder, _LONG(0), end, step, _LONG)
