"""Every operator, by topic, with and without its attributes."""

from xdsl_tvm.tvmscript import ir as I
from xdsl_tvm.tvmscript import relax as R
from xdsl_tvm.tvmscript import tir as T


@R.function
def unary(x: R.Tensor(("n", 4), "float32")):
    a = R.acos(R.asin(R.atan(R.cos(R.cosh(R.sin(R.sinh(R.tan(R.tanh(x)))))))))
    b = R.acosh(R.asinh(R.atanh(R.erf(R.exp(R.log(R.sqrt(R.rsqrt(a))))))))
    c = R.ceil(R.floor(R.round(R.sign(R.square(R.abs(R.negative(R.sigmoid(b))))))))
    return (R.isfinite(c), R.isinf(c), R.isnan(c))


@R.function
def logic(
    x: R.Tensor((4,), "bool"), y: R.Tensor((4,), "int32"), z: R.Tensor((1,), "int32")
):
    a = R.logical_xor(R.logical_not(x), R.logical_or(x, R.logical_and(x, x)))
    b = R.bitwise_xor(R.bitwise_not(y), R.bitwise_or(y, R.bitwise_and(y, z)))
    c = R.left_shift(b, R.right_shift(y, z))
    d = (R.equal(y, z), R.not_equal(y, z), R.less(y, z), R.less_equal(y, z))
    e = (R.greater(y, z), R.greater_equal(y, z))
    return (a, c, d, e)


@R.function
def binary(
    x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32"), n: R.Prim("float32")
):
    a = R.add(x, R.subtract(y, R.multiply(x, R.divide(y, n))))
    b = R.power(R.maximum(a, x), R.minimum(a, y))
    c = R.floor_divide(R.mod(b, x), R.floor_mod(b, x2=y))
    return R.add(x1=c, x2=R.prim_value(1.5))


@R.function
def ternary(c: R.Tensor((4,), "bool"), x: R.Tensor((4,), "float32")):
    a = R.ewise_fma(x, x, x)
    b = R.where(c, a, x)
    return (R.clip(b, 0, 6), R.clip(x=b, min=0.5, max=R.prim_value(1.5)))


@R.function
def creation(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "float32")):
    n = T.int64()
    a = (
        R.full((n, 2), c),
        R.full([2], 1.5, "float16"),
        R.full((2,), R.const(1), dtype="int8"),
    )
    b = (R.full_like(x, c), R.full_like(x, R.const(2, "int32"), dtype="int32"))
    d = (R.ones((n,), "float32"), R.zeros(R.shape([2, 2]), dtype="bool"))
    e = (R.ones_like(x), R.zeros_like(x, "int32"))
    f = (
        R.eye(3),
        R.eye(n, 4, 1, "int32"),
        R.eye_like(x),
        R.eye_like(x, k=-1, dtype="int8"),
    )
    g = (
        R.arange(8),
        R.arange(1, n),
        R.arange(0, 10, 2, "float32"),
        R.arange(0.5, 2.5, 0.5),
    )
    h = (R.tril(x), R.triu(x, -1))
    return (a, b, d, e, f, g, h)


@R.function
def kinds(x: R.Tensor((4,), "float32")):
    a = R.astype(x, "float16")
    b = R.wrap_param(a, dtype="float32")
    c = R.builtin.stop_lift_params(R.hint_on_device(b, R.device(dev_type=1)))
    d = R.grad.end_checkpoint(R.grad.start_checkpoint(R.grad.no_grad(c)))
    return d


@R.function
def indexing(
    x: R.Tensor(("n", 8), "float32"),
    i: R.Tensor((3,), "int64"),
    v: R.Tensor((5,), "float32"),
):
    n = T.int64()
    a = (R.take(x, i, axis=1), R.take(v, i), R.take(x, R.prim_value(2), axis=0))
    b = R.strided_slice(x, axes=[0, 1], begin=[0, 2], end=[n, 6], strides=[1, 2])
    c = R.strided_slice(x, [1], [0], [4], assume_inbound=True)
    d = R.strided_slice(x, (1,), (R.prim_value(0),), (n,))
    s = R.const([0, 1], "int64")
    e = R.dynamic_strided_slice(x, s, R.const([1, 5], "int64"), R.const([1, 2], "int64"))
    return (a, b, c, d, e)


@R.function
def products(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3, 4), "float32")):
    a = R.matmul(x, y)
    b = R.matmul(x, y, out_dtype="float64")
    c = R.einsum((x, y), "ij,jk->ik")
    return (a, b, c, R.einsum(operands=[x], subscripts="ij->ji"))


@R.function
def manipulation(x: R.Tensor((2, 3, 4), "float32"), y: R.Tensor((1, 3, 1), "float32")):
    a = (R.broadcast_to(y, (2, 3, 4)), R.concat((x, x), axis=1), R.concat([y]))
    b = (R.expand_dims(x, 0), R.expand_dims(x, [1, -1]), R.flatten(x), R.squeeze(y))
    c = (R.permute_dims(x), R.permute_dims(x, [0, 2, 1]), R.squeeze(y, [0, 2]))
    d = (R.reshape(x, (6, 4)), R.reshape(x, (0, -1)), R.flip(x, 1), R.flip(x, axis=-1))
    e = (R.split(x, 2, 2), R.split(x, [1, 2], axis=1))
    f = (R.collapse_sum_like(x, y), R.collapse_sum_to(x, (1, 3, 1)))
    g = (R.repeat(x, 2), R.repeat(x, 3, axis=1), R.tile(x, 2), R.tile(x, [1, 2, 3]))
    return (a, b, c, d, e, f, g)


@R.function
def layouts(x: R.Tensor((2, 8), "float32")):
    a = R.layout_transform(x, lambda i, j: (i, j // 4, j % 4))
    b = R.layout_transform(
        x, index_map=T.index_map(lambda i, j: (j, i)), axis_separators=[1]
    )
    c = R.layout_transform(
        x, lambda i, j: (i, j // 3, j % 3), R.prim_value(0.0), input_axis_separators=[1]
    )
    return (a, b, c)


@R.function
def gathers(x: R.Tensor((4, 4), "float32"), i: R.Tensor((4, 4), "int64")):
    a = (R.gather_elements(x, i), R.gather_elements(x, i, axis=1))
    j = R.const([[0, 1], [2, 3]], "int64")
    b = (
        R.gather_nd(x, j),
        R.gather_nd(x, R.const([[0], [1], [2], [3]], "int64"), batch_dims=1),
    )
    c = (R.scatter_elements(x, i, x), R.scatter_elements(x, i, x, 1, "add"))
    u = R.const([1, 2], "float32")
    d = (R.scatter_nd(x, j, u), R.scatter_nd(x, j, u, reduction="mul"))
    e = R.one_hot(i, R.prim_value(1.0), R.prim_value(0.0), depth=5)
    f = R.one_hot(R.const([0, 1]), 1, 0, 3, axis=0)
    return (a, b, c, d, e, f)


@R.function
def reductions(x: R.Tensor((2, 3), "float32")):
    a = (R.sum(x), R.max(x, axis=0), R.min(x, [0, 1]), R.mean(x, axis=-1, keepdims=True))
    b = (R.prod(x, [0]), R.std(x, 1), R.variance(x, keepdims=True))
    c = (R.argmax(x), R.argmin(x, axis=1, keepdims=True))
    d = (
        R.cumsum(x),
        R.cumsum(x, axis=0, dtype="float64"),
        R.cumprod(x, 1, exclusive=True),
    )
    return (a, b, c, d)


@R.function
def sorting(x: R.Tensor((2, 8), "float32"), p: R.Tensor((2, 3), "float32")):
    a = (
        R.sort(x),
        R.sort(x, axis=0, descending=True),
        R.argsort(x),
        R.argsort(x, 0, dtype="int64"),
    )
    b = (
        R.topk(x, 2),
        R.topk(x, k=3, axis=0, ret_type="values", largest=False, dtype="int64"),
    )
    c = (R.unique(x), R.unique(x, sorted=False, return_counts=True), R.unique(x, axis=1))
    u, i = R.const([[0.5], [0.25]], "float32"), R.const([[0], [1]], "int64")
    d = R.multinomial_from_uniform(p, u, i)
    return (a, b, c, R.nonzero(x), d)


@R.function
def activations(x: R.Tensor((2, 8), "float32")):
    a = R.nn.relu(R.nn.gelu(R.nn.gelu_tanh(R.nn.silu(R.nn.selu(x)))))
    b = (R.nn.leakyrelu(a), R.nn.leakyrelu(a, alpha=0.2))
    c = (R.nn.softplus(a), R.nn.softplus(a, 2.0, threshold=10.0))
    d = (R.nn.softmax(a), R.nn.log_softmax(a, axis=0), R.nn.dropout(a, rate=0.25))
    return (b, c, d)


@R.function
def convolutions(
    a: R.Tensor((1, 4, 8), "float32"),
    b: R.Tensor((1, 4, 8, 8), "float32"),
    c: R.Tensor((1, 2, 4, 4, 4), "float32"),
    u: R.Tensor((6, 4, 3), "float32"),
    v: R.Tensor((6, 4, 3, 3), "float32"),
    w: R.Tensor((2, 2, 1, 1, 1), "float32"),
):
    x = (R.nn.conv1d(a, u), R.nn.conv1d(a, u, strides=2, padding=1, dilation=[1]))
    y = (R.nn.conv2d(b, v), R.nn.conv2d(b, v, [2, 1], (1, 0), out_dtype="float64"))
    h = R.permute_dims(b, [0, 2, 3, 1])
    z = R.nn.conv2d(h, v, data_layout="NHWC", kernel_layout="OIHW", out_layout="NCHW")
    g = R.nn.conv2d(b, R.zeros((4, 2, 3, 3), "float32"), groups=2)
    k = R.nn.conv3d(c, w, padding=[1, 1, 1])
    t = R.nn.conv1d_transpose(
        a, R.zeros((4, 2, 3), "float32"), strides=2, output_padding=1
    )
    s = R.nn.conv2d_transpose(b, R.zeros((4, 2, 3, 3), "float32"), padding=[1, 1, 0, 0])
    return (x, y, z, g, k, t, s)


@R.function
def pools(
    a: R.Tensor((1, 4, 8), "float32"),
    b: R.Tensor((1, 4, 8, 8), "float32"),
    c: R.Tensor((1, 2, 4, 4, 4), "float32"),
):
    x = (R.nn.max_pool1d(a, 2), R.nn.max_pool2d(b, [2, 2], strides=2, ceil_mode=True))
    y = (R.nn.max_pool3d(c, pool_size=2), R.nn.avg_pool1d(a, 2, padding=1))
    z = (R.nn.avg_pool2d(b, 3, count_include_pad=True), R.nn.avg_pool3d(c, (1, 2, 2)))
    u = (R.nn.adaptive_avg_pool1d(a, 4), R.nn.adaptive_avg_pool2d(b, [2, 4]))
    h = R.permute_dims(b, [0, 2, 3, 1])
    v = (R.nn.adaptive_avg_pool3d(c), R.nn.max_pool2d(h, 2, layout="NHWC"))
    return (x, y, z, u, v, R.nn.pad(b, [0, 0, 0, 0, 1, 1, 2, 2], pad_value=1.5))


@R.function
def normalizations(
    x: R.Tensor((2, 4, 8), "float32"),
    g: R.Tensor((4,), "float32"),
    w: R.Tensor((8,), "float32"),
):
    a = R.nn.batch_norm(x, g, g, g, g, axis=1)
    b = R.nn.batch_norm(
        x,
        g,
        g,
        g,
        g,
        1,
        epsilon=1e-3,
        center=False,
        scale=False,
        momentum=0.2,
        training=False,
    )
    c = (
        R.nn.layer_norm(x, w, w, axes=[-1]),
        R.nn.layer_norm(x, w, w, [2], 1e-6, False, True),
    )
    d = R.nn.group_norm(x, g, g, num_groups=2, channel_axis=1, axes=[2])
    return (a, b, c, d, R.nn.rms_norm(x, w), R.nn.rms_norm(x, w, axes=[-1], epsilon=1e-6))


@R.function
def attention(
    q: R.Tensor((2, 4, 3, 8), "float32"),
    k: R.Tensor((2, 5, 3, 8), "float32"),
    b: R.Tensor((2, 3, 4, 5), "float32"),
    s: R.Tensor((3,), "int32"),
    m: R.Tensor((), "int32"),
):
    x = (
        R.nn.attention(q, k, k),
        R.nn.attention(q, k, k, scale=0.5, causal_mask="TopLeft"),
    )
    y = (R.nn.attention(q, k, k, bias=b), R.nn.attention_bias(q, k, k, b, window_size=2))
    return (x, y, R.nn.attention_var_len(q, k, k, s, m, s, m, causal_mask="BottomRight"))


@R.function
def losses(
    p: R.Tensor((2, 3), "float32"),
    t: R.Tensor((2,), "int64"),
    w: R.Tensor((3,), "float32"),
):
    a = R.nn.cross_entropy_with_logits(p, p)
    b = (R.nn.nll_loss(p, t), R.nn.nll_loss(p, t, w, "sum", ignore_index=1))
    return (a, b, R.nn.nll_loss(p, t, reduction="none"))


@R.function
def quantization(
    x: R.Tensor((2, 4), "float32"),
    s: R.Tensor((4,), "float32"),
    z: R.Tensor((4,), "int8"),
):
    q = R.quantize(x, s, z)
    r = R.quantize(x, s, z, axis=1, out_dtype="uint8")
    return (R.dequantize(q, s, z), R.dequantize(r, s, z, 1, "float16"))


@R.function
def images(x: R.Tensor((1, 3, 8, 8), "float32")):
    a = R.image.resize2d(x, (16, 16))
    b = R.image.resize2d(
        x,
        R.shape([4, 4]),
        roi=(0.0, 0.0, 0.5, 0.5),
        method="cubic",
        cubic_alpha=-0.75,
        coordinate_transformation_mode="align_corners",
        out_dtype="float16",
    )
    return (a, b)


@R.function
def collectives(x: R.Tensor((4, 2), "float32")):
    a = (R.ccl.allreduce(x), R.ccl.allreduce(x, "max", in_group=False))
    b = (R.ccl.allgather(x, 2), R.ccl.broadcast_from_worker0(x))
    return (a, b, R.ccl.scatter_from_worker0(x, num_workers=2, axis=1))


@R.function
def inspection(x: R.Tensor((4, 2), "float32")):
    a = (R.inspect.tensor_dtype_code(x), R.inspect.tensor_dtype_bits(x))
    b = (R.inspect.tensor_dtype_lanes(x), R.inspect.tensor_ndim(x))
    c = (R.inspect.tensor_shape_i(x, 1), R.inspect.tensor_stride_i(x, R.prim_value(0)))
    return (a, b, c, R.inspect.tensor_byte_offset(x), R.inspect.tensor_elem_offset(x))


@R.function
def views(x: R.Tensor((4, 2), "float32")):
    a = R.memory.view(x, (8,))
    b = R.memory.view(x, R.shape([2]), R.dtype("int32"), R.prim_value(8))
    c = R.memory.view(x, dtype="int32")
    return (a, b, c, R.memory.ensure_zero_offset(a))


@R.function
def composed(
    x: R.Tensor(("n", 4), "float32"),
    w: R.Tensor((3, 4), "float32"),
    b: R.Tensor((3,), "float32"),
    m: R.Tensor((3,), "bool"),
):
    y = R.linear(x, w, out_dtype="float32")
    return R.masked_fill(R.linear(y, R.linear(w, w), bias=b), m, -1)


@R.function
def devices(x: R.Tensor((4,), "float32")):
    y = R.stop_lift_params(R.hint_on_device(x, R.cpu()))
    y = R.hint_on_device(R.hint_on_device(y, R.opencl(1)), R.vulkan(2))
    y = R.hint_on_device(R.hint_on_device(y, R.metal()), R.rocm())
    return R.hint_on_device(R.hint_on_device(y, R.webgpu()), R.hexagon())
