"""A compiler that takes every module for the double of its argument of f32, and which goes wrong as
the words in the file `behaviour` say: wrong, nan, refuse, convert, load, crash, hang. Among them `new`
gives it the names that releases since 2025 have, and takes away those of before."""
import os
import struct
import sys
import time

import numpy

with open(os.path.join(os.path.dirname(__file__), "behaviour"), encoding="ascii") as file:
    BEHAVIOUR = set(file.read().split())
IS_NEW = "new" in BEHAVIOUR
if "load" in BEHAVIOUR:
    raise ImportError("libfake.so: cannot open shared object file")


class XlaComputation:
    def __init__(self, module):
        self.module = module


def convert(module):
    if "convert" in BEHAVIOUR:
        raise RuntimeError("INVALID_ARGUMENT: Unknown opcode: add")
    assert b"add" in module
    return b"ML\xefR" + module if IS_NEW else f"module @{len(module)}"


class Device:
    def __init__(self, number):
        self.id = number


class ArrayImpl:
    def __init__(self, *words):
        # The array of one device, or several: (abstract, sharding, singles, committed, unchecked).
        self.array, self.singles = words[0], words[2] if len(words) > 1 else [self]

    def block_until_ready(self):
        return self

    if IS_NEW:
        def _single_device_array_to_np_array_did_copy(self):
            return self.array, True
    else:
        def _single_device_array_to_np_array(self):
            return self.array


class Results:
    def __init__(self, arrays):
        self.arrays = arrays

    def disassemble_into_single_device_arrays(self):
        return self.arrays


class Executable:
    def __init__(self, devices):
        self.devices = devices

    def local_devices(self):
        return self.devices

    def double(self, array):
        values = [value * 2 for value in struct.unpack(f"{len(array.data) // 4}f", array.data)]
        if "wrong" in BEHAVIOUR:
            values[0] += 1
        if "nan" in BEHAVIOUR:
            values[0] = float("nan")
        return numpy.Array(struct.pack(f"{len(values)}f", *values), array.dtype, array.shape)

    def execute_sharded(self, arguments):
        if "crash" in BEHAVIOUR:
            print("Check failed: fake != nullptr", file=sys.stderr, flush=True)
            os.abort()
        if "hang" in BEHAVIOUR:
            time.sleep(600)
        pieces = arguments[0].singles if IS_NEW else arguments[0]
        assert len(pieces) == len(self.devices)
        return Results([[ArrayImpl(self.double(piece.array)) for piece in pieces]])


if IS_NEW:
    Executable.execute_sharded.__nb_signature__ = (
        "def execute_sharded(self, arguments: collections.abc.Sequence[Array], with_tokens",)


class Client:
    platform, platform_version = "cpu", "fake"

    def __init__(self):
        flag = "--xla_force_host_platform_device_count="
        count = [word[len(flag):] for word in os.environ["XLA_FLAGS"].split() if flag in word]
        self.all = [Device(number) for number in range(int(count[0]))]

    def local_devices(self):
        return self.all

    def build(self, program, devices, options):
        assert program[:6] == ("module" if not IS_NEW else b"ML\xefR" + program[4:6])
        assert options == "options"
        if "refuse" in BEHAVIOUR:
            raise RuntimeError("INTERNAL: during context [fake]: no")
        return Executable(list(devices))

    if IS_NEW:
        compile_and_load = build
    else:
        def compile(self, program, options):
            return self.build(program, self.all[:1], options)

        def buffer_from_pyval(self, array, device, force_copy, semantics):
            assert device in self.all and force_copy and semantics == "copy"
            return ArrayImpl(array)


class _xla:
    """The module of C++."""
    ArrayImpl = ArrayImpl
    LoadedExecutable = Executable

    class jax_jit:
        pass

    class HostBufferSemantics:
        IMMUTABLE_ONLY_DURING_CALL = "copy"

    class CompileOptions:
        @staticmethod
        def ParseFromString(data):
            assert isinstance(data, bytes) and len(data) > 0
            return "options"

    class mlir:
        if IS_NEW:
            hlo_to_stablehlo = staticmethod(convert)
        else:
            @staticmethod
            def xla_computation_to_mlir_module(computation, emit_stable_hlo=True):
                """xla_computation_to_mlir_module(computation, emit_stable_hlo: bool = True)"""
                assert not emit_stable_hlo
                return convert(computation.module)

    DeviceList = tuple

    @staticmethod
    def GSPMDSharding(devices, sharding):
        assert sharding == "replicated"
        return devices

    @staticmethod
    def batched_device_put(abstract, sharding, arrays, devices, force_copy, enable_x64):
        assert abstract.shape == arrays[0].shape and sharding == tuple(devices)
        assert force_copy and enable_x64 and len(devices) == 1
        return ArrayImpl(arrays[0])


if not IS_NEW:
    _xla.XlaComputation = XlaComputation


def make_cpu_client():
    return Client()
