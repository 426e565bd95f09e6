"""What is known of a pass without running it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class PassInfo:
    """The metadata of a pass, as instruments and `Sequential` see it.

    `required` names pass constructors (`tir.transform.X`), while `name` is the pass's
    own name (`tir.X`). `traceable` is kept for tuning tools and read by nothing here.
    """

    opt_level: int
    name: str
    required: list[str] = field(default_factory=list[str])
    traceable: bool = False

    def __str__(self) -> str:
        names = "".join(f"{name}, \n" for name in self.required)
        required = f"[\n{names}]" if names else "[]"
        return (
            f"The meta data of the pass - pass name: {self.name}, "
            f"opt_level: {self.opt_level}, required passes: {required}\n"
        )
