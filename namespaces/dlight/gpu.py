"""TVM's rules of schedules for GPUs: each says that kernels of its kind get one."""

from typing import NoReturn

from xdsl_tvm.dlight.rules import ScheduleRule
from xdsl_tvm.tvm_words import missing


class Matmul(ScheduleRule):
    """Matrix products."""


class GEMV(ScheduleRule):
    """Products of a matrix and a vector."""


class LowBatchGEMV(ScheduleRule):
    """Products with few rows; how many makes no difference."""

    def __init__(self, bucket: int = 4) -> None:
        self.bucket = bucket


class Reduction(ScheduleRule):
    """Sums along an axis."""


class GeneralReduction(ScheduleRule):
    """Rows that are reduced and used again, as in softmax."""


class RMSNorm(ScheduleRule):
    """Norms of rows."""


class Transpose(ScheduleRule):
    """Transposed copies."""


class Fallback(ScheduleRule):
    """Everything else: one thread for each result."""


def __getattr__(name: str) -> NoReturn:
    raise missing("dlight.gpu", name)
