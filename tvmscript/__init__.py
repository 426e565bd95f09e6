"""TVMScript: reading it, printing it, and building programs with its vocabulary.

    from xdsl_tvm.tvmscript import parse, print_script
    from xdsl_tvm.tvmscript import ir as I, tir as T

`parse` reads a script into a module, `print_script` writes one; `T.prim_func` and
`I.ir_module` read the Python function or class that they decorate.
"""

from xdsl_tvm.tvmscript.errors import ScriptError as ScriptError
from xdsl_tvm.tvmscript.parser import parse as parse
from xdsl_tvm.tvmscript.parser import parse_nodes as parse_nodes
from xdsl_tvm.tvmscript.printer import print_script as print_script
