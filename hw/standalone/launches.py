"""What the host program says of one kernel: its tensor maps, attributes, arguments, launch."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.hw.launch.prepare import Stamps, int_value, map_spec
from asyncsim.hw.launch.raw_map import map_enums
from asyncsim.hw.render import Parameter, ParameterKind, Rendered
from asyncsim.hw.render.context import C_TYPES
from asyncsim.ir.decl import GlobalTensor, TensorMap
from asyncsim.ir.dtype import DType
from asyncsim.ir.schedule import Schedule


def type_name(t: GlobalTensor) -> str:
    """The element type in the host program."""
    return "Type::f32" if t.dtype is DType.TF32 else f"Type::{t.dtype.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """``number``: its place in a program; None of one kernel alone. It ends the
    names of its maps."""

    schedule: Schedule
    rendered: Rendered
    number: int | None = None

    @property
    def suffix(self) -> str:
        return f"_{self.number}" if self.number is not None else ""

    def maps(self) -> list[str]:
        """The tensor maps, and copies in global memory of those that the kernel changes."""
        out = []
        for m in self.schedule.of_kind(TensorMap):
            out.append(f"const TensorMap m_{m.name}{self.suffix} = {self._map(m)};")
            if m.in_global:
                ctas, name = self.schedule.ctas, m.name + self.suffix
                out += [
                    f"const std::vector<TensorMap> first_{name}({ctas}, m_{name});  // one a CTA",
                    f"TensorMap* maps_{name};",
                    f"CUDA_OK(cudaMalloc(&maps_{name}, {ctas} * sizeof(TensorMap)));",
                ]
        return out

    def set_up(self) -> list[str]:
        """Buffers and attributes."""
        s, name = self.schedule, self.rendered.kernel_name
        out = [f"const Notes notes{self.suffix}({s.ctas} * {s.warps + 1});"]
        set_attribute = f"CUDA_OK(cudaFuncSetAttribute({name}, cudaFuncAttribute"
        out.append(f"{set_attribute}MaxDynamicSharedMemorySize, {s.smem_bytes}));")
        if s.cluster_ctas > 8:
            out.append(f"{set_attribute}NonPortableClusterSizeAllowed, 1));")
        return out

    def prepare(self) -> list[str]:
        """Before each launch: maps as they were."""
        return [
            f"CUDA_OK(cudaMemcpy(maps_{name}, first_{name}.data(), "
            f"{self.schedule.ctas} * sizeof(TensorMap), cudaMemcpyHostToDevice));"
            for m in self.schedule.of_kind(TensorMap)
            if m.in_global
            for name in (m.name + self.suffix,)
        ]

    def launch(self) -> list[str]:
        """The launch; of a dependent kernel one that may start before the one ahead has ended."""
        s, name = self.schedule, self.rendered.kernel_name
        arguments = ", ".join(self._argument(p) for p in self.rendered.parameters)
        grid = f"dim3({s.grid[0]}, {s.grid[1]}, {s.grid[2]})"
        if not self.number:
            return [
                f"{name}<<<{grid}, {s.threads}, {s.smem_bytes}>>>({arguments});",
                "CUDA_OK(cudaGetLastError());",
            ]
        return [
            "cudaLaunchAttribute early;",
            "early.id = cudaLaunchAttributeProgrammaticStreamSerialization;",
            "early.val.programmaticStreamSerializationAllowed = 1;",
            "cudaLaunchConfig_t config = {};",
            f"config.gridDim = {grid};",
            f"config.blockDim = {s.threads};",
            f"config.dynamicSmemBytes = {s.smem_bytes};",
            "config.attrs = &early;",
            "config.numAttrs = 1;",
            f"CUDA_OK(cudaLaunchKernelEx(&config, {name}, {arguments}));",
        ]

    def ended(self) -> str:
        """C text: whether no wait reached its limit."""
        return f'ended("{self.rendered.kernel_name}", notes{self.suffix})'

    def _argument(self, p: Parameter) -> str:
        match p.kind:
            case ParameterKind.TENSOR:
                return f"t_{p.name}.as<{C_TYPES[self.schedule.tensor(p.name).dtype]}>()"
            case ParameterKind.TENSOR_MAP:
                return f"m_{p.name}{self.suffix}"
            case ParameterKind.TENSOR_MAPS:
                return f"maps_{p.name}{self.suffix}"
            case ParameterKind.REPORT:
                return f"notes{self.suffix}.report"
            case ParameterKind.CLOCKS:
                return f"notes{self.suffix}.clocks"
            case _:
                return str(int_value(self.schedule, p, Stamps()))

    def _map(self, m: TensorMap) -> str:
        spec = map_spec(self.schedule, m)
        kind, interleave, *forms = map_enums(spec)
        tensor = self.schedule.tensor(m.tensor)
        form = [f"{{{_list(spec.shape)}, {_list(spec.strides)}}}"]
        if (spec.shape, spec.strides) == (tensor.shape, tensor.strides):
            form = [f"t_{m.tensor}.form"]
        steps = _list(spec.element_strides or (1,) * len(spec.shape))
        if not spec.corners:
            function, box = "tiled_map", [_list(spec.box)]
        else:
            lower, upper = spec.corners
            pixels, channels = spec.box
            corners = [_list(lower), _list(upper)]
            function = "im2col_map"
            if spec.wide:
                function, corners = "im2col_wide_map", [str(lower[0]), str(upper[0])]
                interleave += f", CU_TENSOR_MAP_IM2COL_WIDE_MODE_{spec.wide}"
            box = [*corners, str(channels), str(pixels)]
        given = [f"t_{m.tensor}", *form, kind, *box, steps, interleave, *forms]
        return f"{function}({', '.join(given)})"


def _list(numbers: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"
