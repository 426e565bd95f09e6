"""Pooling."""

from __future__ import annotations

from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.operators.convolution import positive, spatial, spatial_pads
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


def window(node: Node) -> tuple[list[int], list[int], list[int], list[int]]:
    """Kernel, strides, padding and dilations."""
    kernel = node.ints_of("kernel_shape")
    count = len(kernel)
    if count != node.rank() - 2 or any(size < 1 for size in kernel):
        raise node.error(
            f"kernel_shape must be {node.rank() - 2} positive integers, not {kernel}"
        )
    strides, dilations = (
        positive(node, name, count) for name in ("strides", "dilations")
    )
    pads = spatial_pads(node, spatial(node), kernel, strides, dilations)
    return kernel, strides, pads, dilations


def pooled(node: Node, name: str, x: Expr, count_include_pad: bool) -> Expr:
    """The pool of a node, "max" or "avg", of data made of its input."""
    kernel, strides, pads, dilations = window(node)
    count = len(kernel)
    if not 1 <= count <= 3:
        raise node.error(f"pools of {count} spatial axes are not converted")
    function = getattr(op.nn, f"{name}_pool{count}d")
    ceil_mode = bool(node.int_of("ceil_mode", 0))
    result = function(x, kernel, strides, pads, dilations, ceil_mode, count_include_pad)
    if not ceil_mode:
        return result
    # A window that would start in the padding after the data does not count.
    for axis, size in enumerate(spatial(node)):
        found = result.shape[axis + 2].value
        if size is None or found is None:
            continue
        most = -(-(size + pads[axis]) // strides[axis])
        if found > most:
            result = op.strided_slice(result, [axis + 2], [0], [most])
    return result


@converts("AveragePool")
def _average_pool(node: Node) -> Value:
    include = bool(node.int_of("count_include_pad", 0))
    return pooled(node, "avg", node.expr(), include)


@converts("LpPool")
def _lp_pool(node: Node) -> Value:
    p = node.int_of("p", 2)
    x = op.abs(node.expr())
    powers = op.power(x, node.scalar(p))
    kernel, *_ = window(node)
    size = 1
    for extent in kernel:
        size *= extent
    total = op.multiply(pooled(node, "avg", powers, True), node.scalar(size))
    return op.power(total, node.scalar(1 / p))


@converts("GlobalAveragePool")
def _global_average_pool(node: Node) -> Value:
    return op.mean(node.expr(), list(range(2, node.rank())), True)


@converts("GlobalMaxPool")
def _global_max_pool(node: Node) -> Value:
    return op.max(node.expr(), list(range(2, node.rank())), True)


@converts("GlobalLpPool")
def _global_lp_pool(node: Node) -> Value:
    p = node.int_of("p", 2)
    powers = op.power(op.abs(node.expr()), node.scalar(p))
    total = op.sum(powers, list(range(2, node.rank())), True)
    return op.power(total, node.scalar(1 / p))
