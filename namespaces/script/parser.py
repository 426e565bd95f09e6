"""TVM's `tvm.script.parser`: `from xdsl_tvm.script.parser import ir as I, tir as T`."""

from xdsl_tvm.tvmscript import ir as ir
from xdsl_tvm.tvmscript import parse as parse
from xdsl_tvm.tvmscript import relax as relax
from xdsl_tvm.tvmscript import tir as tir
from xdsl_tvm.tvmscript.decorators import ir_module as ir_module
