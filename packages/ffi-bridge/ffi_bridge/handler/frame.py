"""Emit LLVM IR that reads an `XLA_FFI_CallFrame`: metadata, stage, buffers, errors.

The kernel is unknown here; each toolchain's `emit.py` adds its call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from llvmlite import ir

from ffi_bridge.abi import API_VERSION, CODES, OFFSETS, SIZES

I8: Final = ir.IntType(8)
I32: Final = ir.IntType(32)
I64: Final = ir.IntType(64)
POINTER: Final = I8.as_pointer()
NULL: Final = ir.Constant(POINTER, None)
HANDLER_TYPE: Final = ir.FunctionType(POINTER, [POINTER])


@dataclass(frozen=True)
class Buffer:
    """One operand or result: the address of its data, and its extents, outermost first."""

    data: Any
    dims: tuple[Any, ...]


class Frame:
    """The call frame of the handler that `builder` is emitting."""

    def __init__(self, builder: Any, pointer: Any) -> None:
        self.builder = builder
        self.pointer = pointer
        # Emits what undoes the emitter's changes (a lock, a thread count) before an early return.
        self.leave: Callable[[], None] = lambda: None

    def field(self, base: Any, struct: str, name: str, of_type: Any = POINTER) -> Any:
        """Load field `name` of the C struct at `base`."""
        return self.builder.load(self._address(base, OFFSETS[struct][name], of_type))

    def _address(self, base: Any, offset: int, of_type: Any) -> Any:
        moved = self.builder.gep(base, [ir.Constant(I64, offset)])
        return self.builder.bitcast(moved, of_type.as_pointer())

    def answer_metadata(self, traits: int = 0) -> None:
        """Return version and traits if XLA asks for them, in the first extension of the call frame."""
        builder = self.builder
        # XLA asks when it registers the handler, by a frame that has no buffers.
        extension = self.field(self.pointer, "XLA_FFI_CallFrame", "extension_start")
        with builder.if_then(builder.icmp_unsigned("!=", extension, NULL), likely=False):
            kind = self.field(extension, "XLA_FFI_InternalExtension", "type", I32)
            question = ir.Constant(I32, CODES["XLA_FFI_Extension_Metadata"])
            with builder.if_then(builder.icmp_unsigned("==", kind, question)):
                metadata = self.field(extension, "XLA_FFI_Metadata_Extension", "metadata")
                version = OFFSETS["XLA_FFI_Metadata"]["api_version"]
                at = OFFSETS["XLA_FFI_Api_Version"]
                for offset, value in (
                    (version + at["major_version"], API_VERSION[0]),
                    (version + at["minor_version"], API_VERSION[1]),
                    (OFFSETS["XLA_FFI_Metadata"]["traits"], traits),
                ):
                    builder.store(ir.Constant(I32, value), self._address(metadata, offset, I32))
                builder.ret(NULL)

    def return_unless_execute(self) -> None:
        """Return at once in all stages but execution (instantiate, prepare, initialize)."""
        builder = self.builder
        stage = self.field(self.pointer, "XLA_FFI_CallFrame", "stage", I32)
        execute = ir.Constant(I32, CODES["XLA_FFI_ExecutionStage_EXECUTE"])
        with builder.if_then(builder.icmp_unsigned("!=", stage, execute), likely=False):
            builder.ret(NULL)

    def buffers(self, side: str, expected: int) -> list[Any]:
        """Return pointers to the `args` or `rets` of the frame, after a check of their number."""
        struct, member = {"args": ("XLA_FFI_Args", "args"), "rets": ("XLA_FFI_Rets", "rets")}[side]
        offset = OFFSETS["XLA_FFI_CallFrame"][side]
        items = self.builder.gep(self.pointer, [ir.Constant(I64, offset)])
        size = self.field(items, struct, "size", I64)
        self.require(size, expected, f"expected {expected} buffers in {side}")
        table = self.field(items, struct, member, POINTER.as_pointer())
        return [self.builder.load(self.builder.gep(table, [ir.Constant(I64, i)])) for i in range(expected)]

    def buffer(self, pointer: Any, rank: int, dtype: tuple[str, int], name: str) -> Buffer:
        """Return the buffer at `pointer`, after a check of its rank and dtype."""
        actual = self.field(pointer, "XLA_FFI_Buffer", "rank", I64)
        self.require(actual, rank, f"expected rank {rank} for '{name}'")
        code = self.field(pointer, "XLA_FFI_Buffer", "dtype", I32)
        self.require(code, dtype[1], f"expected dtype {dtype[0]} for '{name}'")
        extents = self.field(pointer, "XLA_FFI_Buffer", "dims", I64.as_pointer())
        dims = tuple(self.builder.load(self.builder.gep(extents, [ir.Constant(I64, i)])) for i in range(rank))
        return Buffer(self.field(pointer, "XLA_FFI_Buffer", "data"), dims)

    def stream(self) -> Any:
        """Return the CUDA stream that XLA runs this call on."""
        builder = self.builder
        arguments = self._filled("XLA_FFI_Stream_Get_Args", ctx=self._context())
        error = self._call_api("XLA_FFI_Stream_Get", arguments)
        with builder.if_then(builder.icmp_unsigned("!=", error, NULL), likely=False):
            builder.ret(error)
        return self.field(arguments, "XLA_FFI_Stream_Get_Args", "stream")

    def schedule(self, task: Any, data: Any) -> Any:
        """Ask XLA to call `task(data)` on a thread of its pool; return whether it will."""
        builder = self.builder
        fields = {"ctx": self._context(), "task": task, "data": data}
        arguments = self._filled("XLA_FFI_ThreadPool_Schedule_Args", **fields)
        error = self._call_api("XLA_FFI_ThreadPool_Schedule", arguments)
        is_taken = builder.icmp_unsigned("==", error, NULL)
        with builder.if_then(builder.not_(is_taken), likely=False):
            # Whoever gets an error of XLA's has to free it.
            refusal = self._filled("XLA_FFI_Error_Destroy_Args", error=error)
            self._call_api("XLA_FFI_Error_Destroy", refusal)
        return is_taken

    def _context(self) -> Any:
        return self.field(self.pointer, "XLA_FFI_CallFrame", "ctx")

    def require(self, actual: Any, expected: Any, message: str) -> None:
        """Return an INVALID_ARGUMENT error unless `actual` is `expected`, a number or a value."""
        builder = self.builder
        if isinstance(expected, int):
            expected = ir.Constant(actual.type, expected)
        with builder.if_then(builder.not_(builder.icmp_signed("==", actual, expected)), likely=False):
            text = f"{builder.function.name}: {message}; the program was built for other buffers"
            self.leave()
            code = "XLA_FFI_Error_Code_INVALID_ARGUMENT"
            builder.ret(self.error(code, constant_text(builder.module, text)))

    def fail(self, text: str) -> None:
        """Return an INTERNAL error with a constant text."""
        self.leave()
        self.builder.ret(self.error("XLA_FFI_Error_Code_INTERNAL", constant_text(self.builder.module, text)))

    def error(self, code: str, message: Any) -> Any:
        """Return a new `XLA_FFI_Error`, which copies the text at `message`."""
        arguments = self._filled(
            "XLA_FFI_Error_Create_Args", message=message, errc=ir.Constant(I32, CODES[code])
        )
        return self._call_api("XLA_FFI_Error_Create", arguments)

    def _call_api(self, name: str, arguments: Any) -> Any:
        """Call the function `name` of XLA's API; return its error, or NULL."""
        api = self.field(self.pointer, "XLA_FFI_CallFrame", "api")
        function = self.field(api, "XLA_FFI_Api", name, HANDLER_TYPE.as_pointer())
        return self.builder.call(function, [arguments])

    def _filled(self, struct: str, **fields: Any) -> Any:
        """Return a struct of arguments on the stack, with its size in the first field, and zeros."""
        builder, size = self.builder, SIZES[struct]
        with builder.goto_entry_block():
            storage = builder.alloca(ir.ArrayType(I8, size), name=struct)
            # Bytes alone would be aligned to 1, and the struct has pointers.
            storage.align = 8
        builder.store(ir.Constant(storage.type.pointee, None), storage)
        arguments = builder.bitcast(storage, POINTER)
        builder.store(ir.Constant(I64, size), self._address(arguments, 0, I64))
        for name, value in fields.items():
            builder.store(value, self._address(arguments, OFFSETS[struct][name], value.type))
        return arguments


def begin_handler(module: Any, name: str, traits: int = 0) -> Frame:
    """Begin the handler `name`: answer XLA's questions, and return the frame where its work is emitted."""
    function = ir.Function(module, HANDLER_TYPE, name=name)
    frame = Frame(ir.IRBuilder(function.append_basic_block("entry")), function.args[0])
    frame.answer_metadata(traits)
    frame.return_unless_execute()
    return frame


def constant_text(module: Any, content: str) -> Any:
    """Return the address of `content` as a constant NUL-terminated string of the module."""
    data = bytearray(content.encode() + b"\0")
    name = module.get_unique_name("text")
    constant: Any = ir.GlobalVariable(module, ir.ArrayType(I8, len(data)), name=name)
    constant.linkage = "internal"
    constant.global_constant = True
    constant.initializer = ir.Constant(constant.value_type, data)
    return constant.bitcast(POINTER)
