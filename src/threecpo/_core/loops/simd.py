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
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_PAIR = ir.VectorType(ir.DoubleType(), 2)
_INDEX = ir.IntType(32)


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
