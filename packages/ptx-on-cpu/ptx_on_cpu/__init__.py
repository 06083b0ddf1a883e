"""Run the PTX of CUDA kernels on a CPU: to test, check and count the code that the compiler really made."""

from ptx_on_cpu.buffers import Buffer as Buffer
from ptx_on_cpu.buffers import Buffers as Buffers
from ptx_on_cpu.errors import LaunchError as LaunchError
from ptx_on_cpu.errors import PtxError as PtxError
from ptx_on_cpu.errors import PtxSyntaxError as PtxSyntaxError
from ptx_on_cpu.errors import UnsupportedError as UnsupportedError
from ptx_on_cpu.kernel import Checks as Checks
from ptx_on_cpu.kernel import Kernel as Kernel
from ptx_on_cpu.kernel import Launch as Launch
from ptx_on_cpu.module import Module as Module

__version__ = "0.1.0"
