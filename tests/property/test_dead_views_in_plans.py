"""Plans in which a view without uses follows the reuse of its memory pass the check.

The ordinary run takes a few programs; `XDSL_TVM_FUZZ=300` takes that many.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from xdsl_tvm.interpreters.relax import interpret
from xdsl_tvm.passes import relax
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "3"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
ROAD = (
    relax.LegalizeOps,
    relax.RewriteDataflowReshape,
    relax.ToNonDataflow,
    relax.RemovePurityChecking,
    relax.CallTIRRewrite,
    relax.StaticPlanBlockMemory,
    relax.VerifyMemoryPlan,
)


def program(seed: int) -> str:
    """A chain of operators with reshapes of earlier results, most of them not used."""
    rng = random.Random(seed)
    lines: list[str] = []
    names = ["x"]
    for number in range(rng.randint(4, 9)):
        lines.append(f"v{number} = R.{rng.choice(('exp', 'sin'))}({names[-1]})")
        names.append(f"v{number}")
        if rng.random() < 0.6:
            of = rng.choice(names[1:])
            shape = rng.choice(("[4, n]", "[n, 4]", "[4 * n]"))
            lines.append(f"d{number} = R.reshape({of}, R.shape({shape}))")
            if rng.random() < 0.3:
                lines.append(f"e{number} = R.reshape(d{number}, R.shape([4, n]))")
                names.append(f"e{number}")
    body = "\n".join(f"                    {line}" for line in lines)
    return f"""
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((4, "n"), "float32")) -> R.Tensor((4, "n"), "float32"):
                n = T.int64()
                with R.dataflow():
{body}
                    last = R.exp({names[-1]})
                    R.output(last)
                return last
    """


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_planner_and_checker_agree(seed: int):
    before = parse(program(seed))
    after = before
    for each in ROAD:
        after = each()(after)
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(
        interpret(after)["main"](x), interpret(before)["main"](x)
    )
