"""Converts models with changed bytes: `OnnxError` in one line, or a module.

python mutated_models.py [COUNT]; default: $XDSL_TVM_FUZZ or 150
"""

from __future__ import annotations

import os
import random
import sys

from google.protobuf.message import DecodeError
from onnx import ModelProto
from onnx.parser import parse_model

from xdsl_tvm.frontend.onnx import OnnxError, from_onnx

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[n, 3, 8, 8] x) => (float[n, m] y)
<float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}, int64[2] s = {0, -1}> {
  c = Conv<pads = [0, 0, 1, 1]>(x, w, b)
  p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c)
  y = Reshape(p, s)
}
"""


def model() -> bytes:
    """The bytes of a model whose fields and lengths are worth changing."""
    found: ModelProto = parse_model(MODEL)
    from_onnx(found)
    return found.SerializeToString()


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few changed, left out, doubled or cut off."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                changed[place] = rng.randrange(256)
            case 1:
                changed[place] ^= 1 << rng.randrange(8)
            case 2:
                del changed[place : place + rng.randint(1, 8)]
            case 3:
                changed[place:place] = changed[place : place + rng.randint(1, 8)]
            case _:
                if rng.random() < 0.2:
                    del changed[place + 1 :]
        if not changed:
            return b"\0"
    return bytes(changed)


def main(count: int) -> int:
    data = model()
    converted = refused = 0
    for seed in range(count):
        proto = ModelProto()
        try:
            proto.ParseFromString(mutated(data, random.Random(seed)))
        except DecodeError:
            # What protobuf refuses is tested by files.
            continue
        try:
            from_onnx(proto)
            converted += 1
        except OnnxError as error:
            refused += 1
            if "\n" in str(error):
                print(f"seed {seed}: several lines: {error}")
                return 1
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}: {error}")
            raise
    print(f"{converted} converted, {refused} refused")
    return 0


if __name__ == "__main__":
    default = os.environ.get("XDSL_TVM_FUZZ", "150")
    sys.exit(main(int(sys.argv[1] if len(sys.argv) > 1 else default)))
