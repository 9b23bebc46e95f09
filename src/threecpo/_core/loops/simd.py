"""Inner loops in vector instructions, which numba does not find by itself.

numba leaves LLVM's SLP vectoriser off, so that eight running scores end up as eight
scalars. Here they are one vector of eight on every processor; products and sums are
rounded one by one (no fused operations), each lane on its own.
"""

from __future__ import annotations

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
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_PAIR = ir.VectorType(ir.DoubleType(), 2)
_INDEX, _LONG = ir.IntType(32), ir.IntType(64)


def _pointer(builder: Any, array: Any, index: Any) -> Any:
    """Pointer to the vector that starts at this index."""
    return builder.bitcast(builder.gep(array, [index]), _VECTOR.as_pointer())


def _spread(builder: Any, value: Any) -> Any:
    """Vector of one value in all lanes."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    lone = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
    first_places = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
    return builder.shuffle_vector(lone, undefined, first_places)


@intrinsic  # type: ignore[untyped-decorator]
def add_products(
    _typing: Any, rates: Any, places: Any, values: Any, found: Any, lane: Any, out: Any
) -> Any:
    """Write the sums over q < found of values[q] rates[places[q] + lane + (0 … 7)].

    To ``out[lane + (0 … 7)]``; ``found`` is even, and entries of even and of odd number
    have a sum each, so that an addition need not wait for the one before.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def start(number: int) -> Any:
            kind = signature.args[number]
            return make_array(kind)(context, builder, args[number]).data

        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2)]
        n_found, first = args[3], args[4]
        one = ir.Constant(n_found.type, 1)
        two = ir.Constant(n_found.type, 2)
        nothing = ir.Constant(n_found.type, 0)
        with cgutils.for_range_slice(builder, nothing, n_found, two, n_found.type) as (
            index,
            _,
        ):
            for number, total in enumerate(sums):
                q = builder.add(index, one) if number else index
                value = builder.load(builder.gep(start(2), [q]))
                place = builder.load(builder.gep(start(1), [q]))
                at = _pointer(builder, start(0), builder.add(place, first))
                row = builder.load(at, align=8)
                product = builder.fmul(_spread(builder, value), row)
                builder.store(builder.fadd(builder.load(total), product), total)
        both = builder.fadd(*(builder.load(total) for total in sums))
        builder.store(both, _pointer(builder, start(5), first), align=8)
        return impl_ret_untracked(
            context, builder, types.void, context.get_dummy_value()
        )

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
        start = make_array(signature.args[0])(context, builder, args[0]).data
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
        return impl_ret_untracked(
            context, builder, types.void, context.get_dummy_value()
        )

    return types.void(out, row, value, first, second), generate


def _pointers(builder: Any, start: Any, at: Any) -> Any:
    """Pointers to the vectors of ``WIDTH`` numbers from this place on."""
    places = (builder.add(at, at.type(i)) for i in range(0, WIDTH, LANES))
    return [_pointer(builder, start, place) for place in places]


def _vectors_at(builder: Any, start: Any, at: Any) -> Any:
    """Vectors of ``WIDTH`` numbers from this place on."""
    return [builder.load(each, align=8) for each in _pointers(builder, start, at)]


def _starts(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Where each argument that is an array begins; other arguments as they are."""
    return [
        make_array(kind)(context, builder, value).data
        if isinstance(kind, types.Array)
        else value
        for kind, value in zip(signature.args, args, strict=True)
    ]


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
        return impl_ret_untracked(
            context, builder, types.void, context.get_dummy_value()
        )

    kinds = (factors, at, step, n, lines, first, stride, out)
    return types.void(*kinds), generate
