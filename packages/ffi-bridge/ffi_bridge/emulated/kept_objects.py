"""Object files of emulated kernels, in the kernel cache."""

from collections.abc import Iterator, MutableMapping

from ffi_bridge import kernel_cache


class KeptObjects(MutableMapping[str, bytes]):
    """The kernel cache as a mapping of keys to object files; it can be read and written, and not listed."""

    def __getitem__(self, key: str) -> bytes:
        entry = kernel_cache.load(key)
        if entry is None:
            raise KeyError(key)
        return entry.code

    def __setitem__(self, key: str, code: bytes) -> None:
        kernel_cache.store(key, kernel_cache.Entry({}, code))

    def __delitem__(self, key: str) -> None:
        raise TypeError("object files are deleted by ffi_bridge.kernel_cache.clear()")

    def __iter__(self) -> Iterator[str]:
        raise TypeError("the kernel cache cannot be listed")

    def __len__(self) -> int:
        raise TypeError("the kernel cache cannot be counted")
