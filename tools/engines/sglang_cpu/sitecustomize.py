"""SGLang without a GPU: sgl_kernel loads its Python files but not its CUDA library.

The package imports its library through sgl_kernel.load_utils; this puts a module of that name in place
before it is looked for. `tools/engines/start` sets PYTHONPATH to this folder, so that each of SGLang's
processes does so.
"""
import sys
import types

without = types.ModuleType("sgl_kernel.load_utils")
without._load_architecture_specific_ops = lambda: None
without._preload_cuda_library = lambda: None
sys.modules[without.__name__] = without
