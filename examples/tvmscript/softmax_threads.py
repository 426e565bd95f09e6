"""Softmax on a GPU: a block for each row, whose threads reduce together.

`xdsl-tvm opt examples/tvmscript/softmax_threads.py -t ptx` writes the kernel: the maximum
and the sum of a row are exchanged by shuffles in each warp and through shared memory
between the warps. `xdsl-tvm run --interpret` executes the threads in the simulator.
"""

from xdsl_tvm.tvmscript import tir as T


@T.prim_func
def softmax(A: T.Buffer((16, 256), "float32"), B: T.Buffer((16, 256), "float32")):
    largest = T.alloc_buffer((16,), scope="shared")
    total = T.alloc_buffer((16,), scope="shared")
    for i in T.thread_binding(16, thread="blockIdx.x"):
        for k in T.thread_binding(256, thread="threadIdx.x"):
            with T.block("largest"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    largest[vi] = T.min_value("float32")
                largest[vi] = T.max(largest[vi], A[vi, vk])
        for k in T.thread_binding(256, thread="threadIdx.x"):
            with T.block("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + T.exp(A[vi, vk] - largest[vi])
        for k in T.thread_binding(256, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = T.exp(A[vi, vk] - largest[vi]) / total[vi]
