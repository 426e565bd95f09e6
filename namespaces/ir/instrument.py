"""TVM's `tvm.ir.instrument`, which is `tvm.instrument`."""

from xdsl_tvm.instrument import PassInstrument as PassInstrument
from xdsl_tvm.instrument import PassPrintingInstrument as PassPrintingInstrument
from xdsl_tvm.instrument import PassTimingInstrument as PassTimingInstrument
from xdsl_tvm.instrument import PrintAfterAll as PrintAfterAll
from xdsl_tvm.instrument import PrintBeforeAll as PrintBeforeAll
from xdsl_tvm.instrument import pass_instrument as pass_instrument
