"""Models of other formats as Relax, by TVM's names: `relax.frontend.onnx`."""
