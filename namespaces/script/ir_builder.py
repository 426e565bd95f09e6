"""TVM's `tvm.script.ir_builder`: functions of TIR made statement by statement.

from xdsl_tvm.script.ir_builder import IRBuilder
from xdsl_tvm.script.ir_builder import tir as T
"""

from xdsl_tvm.tvmscript import ir as ir
from xdsl_tvm.tvmscript import tir as tir
from xdsl_tvm.tvmscript.builder import IRBuilder as IRBuilder
from xdsl_tvm.tvmscript.builder import named as named
