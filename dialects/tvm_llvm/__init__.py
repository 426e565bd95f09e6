"""`tvm_llvm`: the LLVM operations that xDSL's llvm dialect lacks or holds in part.

Every operation is upstream's `llvm.<name>` under the prefix `tvm_llvm.`, with the
operands, properties and syntax of upstream, so that printing one for MLIR is a change
of prefix. Use xDSL's own llvm operation wherever it says all that is needed; the ones
here add:

- casts: `fptosi`, `fptoui`, `uitofp`, `addrspacecast`;
- values: `freeze`, `mlir.poison`, `extractelement`, `select` with a vector condition,
  `icmp` on pointers, `fcmp` on vectors and with fast-math flags that are kept;
- memory: `load` and `store` with orderings, scopes, volatile, nontemporal, invariant
  and alias scopes; `atomicrmw`, `cmpxchg`, `fence`;
- addresses of elements of memrefs: `element_address`;
- control: `switch`;
- `call_intrinsic`, whose memory effects are known for the intrinsics listed in
  `PURE_INTRINSICS`.

Two attributes carry metadata: `#tvm_llvm.loop` (under the key `tvm_llvm.loop` of the
branch that closes a loop) and `#tvm_llvm.alias_scope`.

Sources: the LLVM Language Reference for LLVM 22 and MLIR's LLVM dialect.
"""

from xdsl.ir import Dialect

from xdsl_tvm.dialects.definitions import attributes_of, operations_of

# Relative, since a type checker refuses stars of what it takes for an installed library,
# and exports modules that are imported so.
from . import (
    addresses,
    atomics,
    attributes,
    calls,
    casts,
    comparisons,
    control_flow,
    memory,
    values,
)
from .addresses import *
from .atomics import *
from .attributes import *
from .calls import *
from .casts import *
from .comparisons import *
from .control_flow import *
from .effects import *
from .memory import *
from .orderings import *
from .types import *
from .values import *

TVMLLVM = Dialect(
    "tvm_llvm",
    operations_of(
        casts,
        values,
        comparisons,
        memory,
        addresses,
        atomics,
        control_flow,
        calls,
    ),
    attributes_of(attributes),
)
"""LLVM operations and attributes beyond xDSL's llvm dialect."""
