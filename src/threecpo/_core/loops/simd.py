"""Inner loops in vector instructions, which numba does not find by itself.

numba leaves LLVM's SLP vectoriser off, so that eight running scores end up as eight
scalars. Here they are one vector of eight on every processor; products and sums are
rounded one by one (no fused operations), each lane on its own. Quick scores are vectors
of sixteen, less exact: there products and sums may be fused where a processor can, and
whoever uses them allows for that.
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

LANES = 8
# So many numbers are summed at once.
WIDTH = 64
QUICK_LANES = 16
# A row of quick scores is one vector, or whole pairs of them.
PAIR_LANES = 2 * QUICK_LANES
# So many sums take turns that no addition waits for the one before.
QUICK_SUMS = 4
_FLOAT, _INDEX, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_PAIR = ir.VectorType(ir.DoubleType(), 2)
_QUICK_VECTOR = ir.VectorType(_FLOAT, QUICK_LANES)
_FUSED = ("contract",)


def _pointer(builder: Any, array: Any, index: Any, kind: Any = _VECTOR) -> Any:
    """Pointer to the vector that starts at this index."""
    return builder.bitcast(builder.gep(array, [index]), kind.as_pointer())


def _spread(builder: Any, value: Any, kind: Any = _VECTOR) -> Any:
    """Vector of one value in all lanes."""
    undefined = ir.Constant(kind, ir.Undefined)
    lone = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
    first_places = ir.Constant(ir.VectorType(_INDEX, kind.count), [0] * kind.count)
    return builder.shuffle_vector(lone, undefined, first_places)


def _starts(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Where each argument that is an array begins; other arguments as they are."""
    return [
        make_array(kind)(context, builder, value).data
        if isinstance(kind, types.Array)
        else value
        for kind, value in zip(signature.args, args, strict=True)
    ]


def _nothing(context: Any, builder: Any) -> Any:
    """What a function without a result returns."""
    return impl_ret_untracked(context, builder, types.void, context.get_dummy_value())


@intrinsic  # type: ignore[untyped-decorator]
def add_products(
    _typing: Any, rates: Any, places: Any, values: Any, found: Any, lane: Any, out: Any
) -> Any:
    """Write the sums over q < found of values[q] rates[places[q] + lane + (0 … 7)].

    To ``out[lane + (0 … 7)]``; ``found`` is even, and entries of even and of odd number
    have a sum each, so that an addition need not wait for the one before.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = _starts(context, builder, signature, args)
        rates, places, values, n_found, first, out = arrays
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2)]
        one = ir.Constant(n_found.type, 1)
        two = ir.Constant(n_found.type, 2)
        nothing = ir.Constant(n_found.type, 0)
        with cgutils.for_range_slice(builder, nothing, n_found, two, n_found.type) as (
            index,
            _,
        ):
            for number, total in enumerate(sums):
                q = builder.add(index, one) if number else index
                value = builder.load(builder.gep(values, [q]))
                place = builder.load(builder.gep(places, [q]))
                at = _pointer(builder, rates, builder.add(place, first))
                row = builder.load(at, align=8)
                product = builder.fmul(_spread(builder, value), row)
                builder.store(builder.fadd(builder.load(total), product), total)
        both = builder.fadd(*(builder.load(total) for total in sums))
        builder.store(both, _pointer(builder, out, first), align=8)
        return _nothing(context, builder)

    return types.void(rates, places, values, found, lane, out), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_to_pair(
    _typing: Any, out: Any, row: Any, value: Any, first: Any, second: Any
) -> Any:
    """Add value times (first, second) to a row of two numbers.

    Two plain lines give the same bits; with them a pass that adds up u takes 10 %
    longer, and a whole fit of 14 000 cells with 9.8 million counts 7 %.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start = _starts(context, builder, signature, args)[0]
        two = ir.Constant(args[1].type, 2)
        place = builder.bitcast(
            builder.gep(start, [builder.mul(args[1], two)]), _PAIR.as_pointer()
        )

        def pair(a: Any, b: Any) -> Any:
            lone = builder.insert_element(
                ir.Constant(_PAIR, ir.Undefined), a, ir.Constant(_INDEX, 0)
            )
            return builder.insert_element(lone, b, ir.Constant(_INDEX, 1))

        product = builder.fmul(pair(args[2], args[2]), pair(args[3], args[4]))
        total = builder.fadd(builder.load(place, align=8), product)
        builder.store(total, place, align=8)
        return _nothing(context, builder)

    return types.void(out, row, value, first, second), generate


def _pointers(builder: Any, start: Any, at: Any) -> Any:
    """Pointers to the vectors of ``WIDTH`` numbers from this place on."""
    places = (builder.add(at, at.type(i)) for i in range(0, WIDTH, LANES))
    return [_pointer(builder, start, place) for place in places]


def _vectors_at(builder: Any, start: Any, at: Any) -> Any:
    """Vectors of ``WIDTH`` numbers from this place on."""
    return [builder.load(each, align=8) for each in _pointers(builder, start, at)]


def _sum(builder: Any, vectors: Any) -> Any:
    """Sum of all lanes of some vectors: halves are added to each other."""
    while len(vectors) > 1:
        half = len(vectors) // 2
        pairs = zip(vectors[:half], vectors[half:], strict=True)
        vectors = [builder.fadd(a, b) for a, b in pairs]
    (total,) = vectors
    for half in (4, 2, 1):
        turned = [(lane + half) % LANES for lane in range(LANES)]
        places = ir.Constant(ir.VectorType(_INDEX, LANES), turned)
        total = builder.fadd(total, builder.shuffle_vector(total, total, places))
    return builder.extract_element(total, ir.Constant(_INDEX, 0))


@intrinsic  # type: ignore[untyped-decorator]
def sum_of(_typing: Any, array: Any) -> Any:
    """Sum of the first ``WIDTH`` numbers of an array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (start,) = _starts(context, builder, signature, args)
        return _sum(builder, _vectors_at(builder, start, _LONG(0)))

    return types.float64(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def sum_of_products(_typing: Any, a: Any, at: Any, b: Any, there: Any) -> Any:
    """Sum of the products of ``WIDTH`` numbers of two arrays, each from its place."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, at, other, there = _starts(context, builder, signature, args)
        pairs = zip(
            _vectors_at(builder, one, at),
            _vectors_at(builder, other, there),
            strict=True,
        )
        return _sum(builder, [builder.fmul(x, y) for x, y in pairs])

    return types.float64(a, at, b, there), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_lines(
    _typing: Any,
    factors: Any,
    at: Any,
    step: Any,
    n: Any,
    lines: Any,
    first: Any,
    stride: Any,
    out: Any,
) -> Any:
    """Write the sums over i < n of factors[at + i step] lines[first + i stride + …].

    Of ``WIDTH`` numbers side by side, to the first of ``out``.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        args = _starts(context, builder, signature, args)
        factors, at, step, n, lines, first, stride, out = args
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        n_vectors = WIDTH // LANES
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)]
        for total in sums:
            builder.store(zero, total)
        with cgutils.for_range(builder, n, intp=_LONG) as loop:
            place = builder.add(at, builder.mul(loop.index, step))
            factor = _spread(builder, builder.load(builder.gep(factors, [place])))
            line = builder.add(first, builder.mul(loop.index, stride))
            vectors = _vectors_at(builder, lines, line)
            for total, vector in zip(sums, vectors, strict=True):
                product = builder.fmul(factor, vector)
                builder.store(builder.fadd(builder.load(total), product), total)
        for total, place in zip(sums, _pointers(builder, out, _LONG(0)), strict=True):
            builder.store(builder.load(total), place, align=8)
        return _nothing(context, builder)

    kinds = (factors, at, step, n, lines, first, stride, out)
    return types.void(*kinds), generate


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
            starts = _starts(context, builder, signature, args)
            starts, (first, end, lane) = starts[:5], starts[5:]
            chains = _sums_of_entries(builder, starts, (first, end, lane), n_vectors)
            for number in range(n_vectors):
                parts = [builder.load(chain[number]) for chain in chains]
                total = reduce(builder.fadd, parts)
                place = builder.add(lane, _LONG(number * QUICK_LANES))
                builder.store(
                    total, _pointer(builder, starts[4], place, _QUICK_VECTOR), align=4
                )
            return _nothing(context, builder)

        arrays = table, places, indices, data, out
        return types.void(*arrays, first, end, lane), generate

    return add_entries


def _sums_of_entries(
    builder: Any, starts: list[Any], bounds: tuple[Any, Any, Any], n_vectors: int
) -> list[list[Any]]:
    """Generate the loop over entries; return where its sums are."""
    first, end, lane = bounds
    zero = ir.Constant(_QUICK_VECTOR, [0.0] * QUICK_LANES)
    chains = [
        [cgutils.alloca_once_value(builder, zero) for _ in range(n_vectors)]
        for _ in range(QUICK_SUMS // n_vectors)
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
    at, times = builder.add(at, lane), _spread(builder, value, _QUICK_VECTOR)
    for number, total in enumerate(sums):
        place = builder.add(at, _LONG(number * QUICK_LANES))
        row = builder.load(_pointer(builder, table, place, _QUICK_VECTOR), align=4)
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
        starts = _starts(context, builder, signature, args)
        scores_at, offsets_at, weights_at, _ = starts
        times = _spread(builder, args[3], _QUICK_VECTOR)
        least = ir.Constant(_QUICK_VECTOR, [float("-inf")] * QUICK_LANES)
        largest = cgutils.alloca_once_value(builder, least)
        with _vectors(context, builder, signature, args) as (lane, _):
            at = _pointer(builder, scores_at, lane, _QUICK_VECTOR)
            more = builder.load(
                _pointer(builder, offsets_at, lane, _QUICK_VECTOR), align=4
            )
            weight = builder.load(
                _pointer(builder, weights_at, lane, _QUICK_VECTOR), align=4
            )
            product = builder.fmul(times, weight, flags=_FUSED)
            own = builder.fadd(builder.load(at, align=4), product, flags=_FUSED)
            total = builder.fadd(own, more)
            builder.store(total, at, align=4)
            before = builder.load(largest)
            higher = builder.fcmp_ordered(">", total, before)
            builder.store(builder.select(higher, total, before), largest)
        kind = ir.FunctionType(_FLOAT, [_QUICK_VECTOR])
        name = f"llvm.vector.reduce.fmax.v{QUICK_LANES}f32"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, [builder.load(largest)], fastmath=("nnan",))

    return types.float32(scores, offsets, weights, by), generate


@intrinsic  # type: ignore[untyped-decorator]
def only_above(_typing: Any, scores: Any, least: Any) -> Any:
    """Return the lane of the only score of at least this, -1 if there are others."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        scores_at, _ = _starts(context, builder, signature, args)
        found = cgutils.alloca_once_value(builder, _LONG(0))
        place = cgutils.alloca_once_value(builder, _LONG(0))
        limit = _spread(builder, args[1], _QUICK_VECTOR)
        with _vectors(context, builder, signature, args) as (lane, _):
            total = builder.load(
                _pointer(builder, scores_at, lane, _QUICK_VECTOR), align=4
            )
            above = builder.fcmp_ordered(">=", total, limit)
            mask = builder.zext(builder.bitcast(above, ir.IntType(QUICK_LANES)), _LONG)
            more = builder.ctpop(mask)
            builder.store(builder.add(builder.load(found), more), found)
            here = builder.add(lane, builder.cttz(mask, ir.Constant(ir.IntType(1), 0)))
            some = builder.icmp_unsigned("!=", mask, _LONG(0))
            builder.store(builder.select(some, here, builder.load(place)), place)
        lone = builder.icmp_unsigned("==", builder.load(found), _LONG(1))
        return builder.select(lone, builder.load(place), _LONG(-1))

    return types.int64(scores, least), generate


def _vectors(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Loop over the vectors of the first argument."""
    array = make_array(signature.args[0])(context, builder, args[0])
    end, step = array.nitems, _LONG(QUICK_LANES)
    return cgutils.for_range_slice(builder, _LONG(0), end, step, _LONG)
