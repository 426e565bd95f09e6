"""What a module is compiled to, in memory and as an entry of the object cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.runtime.constant_memory import ConstantMemory, ReservedMemory

_HEAD = b"xdsl-tvm objects 2\n"
_OBJECT, _CONSTANT, _REFERENCE = b"o", b"c", b"r"


@dataclass(frozen=True)
class CompiledObjects:
    """Object files, and the constants that they only declare."""

    objects: Sequence[bytes]
    data: Sequence[Datum] = ()
    memory: ConstantMemory | None = None
    """Where the constants are, if they have been copied already."""

    def constants(self, reserved: ReservedMemory | None = None) -> ConstantMemory | None:
        """Where the constants are; they are copied now, unless they have been."""
        if self.memory is None and self.data:
            return ConstantMemory(self.data, reserved)
        return self.memory

    def entry(self, digests: Mapping[int, bytes]) -> bytes:
        """An entry of the cache, which `of_entry` reads.

        `digests` are those of constants of the module, by the `id` of their bytes: such
        a constant is not kept, but named. Other constants are computed from the module's.
        """
        parts = [_HEAD]

        def field(data: bytes) -> None:
            parts.append(len(data).to_bytes(8, "little"))
            parts.append(data)

        for data in self.objects:
            parts.append(_OBJECT)
            field(data)
        for datum in self.data:
            digest = digests.get(id(datum.data))
            parts.append(_CONSTANT if digest is None else _REFERENCE)
            field(datum.name.encode())
            field(str(datum.alignment).encode())
            field(datum.data if digest is None else digest)
        return b"".join(parts)

    @staticmethod
    def of_entry(
        entry: bytes, constants: Mapping[bytes, bytes]
    ) -> CompiledObjects | None:
        """What an entry holds; None if it names a constant that is not in `constants`.

        Those are the constants of the module, by digest.
        """
        if not entry.startswith(_HEAD):
            return None
        objects: list[bytes] = []
        data: list[Datum] = []
        at = len(_HEAD)

        def field() -> bytes:
            nonlocal at
            start = at + 8
            at = start + int.from_bytes(entry[at:start], "little")
            return entry[start:at]

        while at < len(entry):
            kind = entry[at : at + 1]
            at += 1
            if kind == _OBJECT:
                objects.append(field())
                continue
            name, alignment, content = field().decode(), int(field()), field()
            if kind == _REFERENCE:
                found = constants.get(content)
                if found is None:
                    return None
                content = found
            data.append(Datum(name, content, alignment))
        return CompiledObjects(objects, data)
