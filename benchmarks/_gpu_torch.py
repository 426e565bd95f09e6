"""What torch computes for the programs of `gpu.py`, on a GPU. Needs torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from _gpu_programs import Case, Tensor


def computed(torch: Any, case: Case, arrays: Sequence[Any]) -> Sequence[Any]:
    """The results of a program."""
    functions = torch.nn.functional
    first, *rest = arrays
    match case.kind:
        case "linear":
            # torch has no other product of integers.
            found = torch._int_mm(first, rest[0].T)
        case "bytes":
            found = torch._int_mm(first, rest[0])
        case "matmul":
            found = torch.matmul(first, *rest)
        case "softmax":
            found = functions.softmax(first, -1)
        case "layer_norm":
            found = functions.layer_norm(first, rest[0].shape, *rest)
        case "row_sum":
            found = first.sum(1)
        case "column_sum":
            found = first.sum(0)
        case "transpose":
            found = first.T.contiguous()
        case "add_relu":
            found = functions.relu(first + rest[0])
        case "conv2d":
            found = functions.conv2d(first, *rest, padding=1)
        case "depthwise":
            found = functions.conv2d(first, *rest, padding=1, groups=len(rest[0]))
        case "attention" | "causal":
            heads = (each.transpose(1, 2) for each in arrays)
            found = functions.scaled_dot_product_attention(
                *heads, is_causal=case.kind == "causal"
            ).transpose(1, 2)
        case _:
            named = {t.name: each for t, each in zip(case.inputs, arrays, strict=True)}
            return _MODELS[case.kind](torch, case, named)
    return [found]


Named = Mapping[str, Any]


def _dense(x: Any, p: Named, name: str) -> Any:
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def _norm(torch: Any, x: Any, p: Named, name: str, epsilon: float) -> Any:
    weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, epsilon)


def _heads(x: Any, count: int) -> Any:
    *before, width = x.shape
    return x.reshape(*before, count, width // count).transpose(-3, -2)


def _without_heads(x: Any) -> Any:
    return x.transpose(-3, -2).flatten(-2)


def _convolved(
    torch: Any, x: Any, p: Named, name: str, stride: int = 1, groups: int = 1
) -> Any:
    functions, weight = torch.nn.functional, p[f"{name}.weight"]
    x = functions.conv2d(x, weight, None, stride, weight.shape[-1] // 2, 1, groups)
    parts = (p[f"{name}.{part}"] for part in ("mean", "var", "gamma", "beta"))
    return functions.batch_norm(x, *parts)


def _resnet18(torch: Any, case: Case, p: Named) -> Sequence[Any]:
    relu = torch.relu
    x = relu(_convolved(torch, p["image"], p, "stem", 2))
    x = torch.nn.functional.max_pool2d(x, 3, 2, 1)
    for index, stride in enumerate(case.details["strides"]):
        name = f"blocks.{index}"
        y = relu(_convolved(torch, x, p, f"{name}.conv0", stride))
        y = _convolved(torch, y, p, f"{name}.conv1")
        if f"{name}.shortcut.weight" in p:
            x = _convolved(torch, x, p, f"{name}.shortcut", stride)
        x = relu(x + y)
    return [_dense(x.mean((2, 3)), p, "classifier")]


def _mobilenet_v2(torch: Any, case: Case, p: Named) -> Sequence[Any]:
    relu6 = torch.nn.functional.relu6
    x = relu6(_convolved(torch, p["image"], p, "stem", 2))
    for index, stride in enumerate(case.details["strides"]):
        name, y = f"blocks.{index}", x
        if f"{name}.expand.weight" in p:
            y = relu6(_convolved(torch, y, p, f"{name}.expand"))
        channels = y.shape[1]
        y = relu6(_convolved(torch, y, p, f"{name}.depthwise", stride, channels))
        y = _convolved(torch, y, p, f"{name}.project")
        x = x + y if x.shape == y.shape else y
    x = relu6(_convolved(torch, x, p, "head"))
    return [_dense(x.mean((2, 3)), p, "classifier")]


def _bert(torch: Any, case: Case, p: Named) -> Sequence[Any]:
    functions, heads = torch.nn.functional, case.details["heads"]
    x, bias = p["embedded"], ((1 - p["mask"]) * -1e4)[:, None, None, :]
    for index in range(case.details["layers"]):
        name = f"layers.{index}"
        parts = (
            _heads(_dense(x, p, f"{name}.{part}"), heads)
            for part in ("query", "key", "value")
        )
        found = functions.scaled_dot_product_attention(*parts, bias)
        x = x + _dense(_without_heads(found), p, f"{name}.attended")
        x = _norm(torch, x, p, f"{name}.norm0", case.details["epsilon"])
        inner = functions.gelu(_dense(x, p, f"{name}.inner"))
        x = x + _dense(inner, p, f"{name}.outer")
        x = _norm(torch, x, p, f"{name}.norm1", case.details["epsilon"])
    return [x]


def _gpt2(torch: Any, case: Case, p: Named) -> Sequence[Any]:
    functions, heads = torch.nn.functional, case.details["heads"]
    epsilon = case.details["epsilon"]
    x = p["words.weight"][p["token"]] + p["places.weight"][p["position"]]
    kept: list[Any] = []
    for index in range(case.details["layers"]):
        name = f"layers.{index}"
        joint = _dense(
            _norm(torch, x, p, f"{name}.norm0", epsilon), p, f"{name}.attention"
        )
        query, key, value = (_heads(part[None], heads) for part in joint.chunk(3, 1))
        keys = torch.cat([p[f"keys{index}"], key], 2)
        values = torch.cat([p[f"values{index}"], value], 2)
        kept += [keys, values]
        found = functions.scaled_dot_product_attention(query, keys, values)
        x = x + _dense(_without_heads(found)[0], p, f"{name}.attended")
        inner = _dense(_norm(torch, x, p, f"{name}.norm1", epsilon), p, f"{name}.inner")
        x = x + _dense(functions.gelu(inner, approximate="tanh"), p, f"{name}.outer")
    return [_norm(torch, x, p, "norm", epsilon) @ p["words.weight"].T, *kept]


_MODELS = {
    "resnet18": _resnet18,
    "mobilenet_v2": _mobilenet_v2,
    "bert": _bert,
    "gpt2": _gpt2,
}


def random_array(torch: Any, tensor: Tensor) -> Any:
    """An array of random elements on the GPU."""
    dtype, shape = getattr(torch, tensor.dtype), tensor.shape
    if tensor.dtype == "int8":
        return torch.randint(-128, 128, shape, device="cuda", dtype=dtype)
    if tensor.dtype == "int64":
        return torch.randint(0, int(tensor.scale), shape, device="cuda")
    if tensor.draw == "ones":
        return torch.ones(*shape, device="cuda", dtype=dtype)
    if tensor.draw == "positive":
        return torch.rand(*shape, device="cuda").add(0.5).to(dtype)
    return torch.randn(*shape, device="cuda").mul(tensor.scale).to(dtype)
