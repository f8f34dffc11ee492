"""The worker of jaxlib: backends: compiles and runs modules with a release of jaxlib.

The program spawns it as it spawns itself (backend/worker.h), and talks to it in the same words: a packet
on a socket, with a message in a memory file (backend/parcel.h); requests and replies are those of
backend/pjrt/serve.c. What is different from release to release is a row of a table here, the newest way
first: the first one that the release has is taken. Nothing but jaxlib, numpy and ml_dtypes is needed.
"""
import json
import mmap
import os
import resource
import select
import socket
import struct
import sys
import threading
import time

SOCKET = 3  # WORKER_SOCKET
WORKER_MAGIC = 0x77726B31
PACKET = struct.Struct("@Iii4xd")  # struct worker_packet
REQUEST, STAGE, REPLY = range(3)
OPEN, RUN = range(2)
START, LOAD, COMPILE, TRANSFER, EXECUTE, FETCH = range(6)
PARCEL_MAGIC = 0x31656C6972576652
HEADER = struct.Struct("=QQQ")
BLOB = struct.Struct("=QQQQ")  # struct parcel_blob; what is no offset or size is the sender's own
ALIGNMENT = 64

# XLA's names of element types, and numpy's or ml_dtypes' of those that are called otherwise.
DTYPES = {
    "pred": "bool", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "f16": "float16", "f32": "float32",
    "f64": "float64", "c64": "complex64", "c128": "complex128", "bf16": "bfloat16", "s2": "int2",
    "u2": "uint2", "s4": "int4", "u4": "uint4", "f8e5m2": "float8_e5m2",
    "f8e4m3fn": "float8_e4m3fn", "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e5m2fnuz": "float8_e5m2fnuz", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e4m3": "float8_e4m3",
    "f8e3m4": "float8_e3m4", "f8e8m0fnu": "float8_e8m0fnu", "f4e2m1fn": "float4_e2m1fn",
    "f6e3m2fn": "float6_e3m2fn", "f6e2m3fn": "float6_e2m3fn",
}


class Unsupported(Exception):
    """The release cannot be given, or cannot give, something: no judgement on its compiler."""


# --- messages ---


class Reader:
    def __init__(self, file):
        self.map = mmap.mmap(file, 0, flags=mmap.MAP_PRIVATE,
                             prot=mmap.PROT_READ | mmap.PROT_WRITE)
        os.close(file)
        magic, body_size, blob_count = HEADER.unpack_from(self.map, 0)
        if magic != PARCEL_MAGIC:
            raise ValueError("not a message")
        self.blobs = [BLOB.unpack_from(self.map, HEADER.size + i * BLOB.size)[:2]
                      for i in range(blob_count)]
        self.next = HEADER.size + blob_count * BLOB.size
        self.next_blob = 0

    def number(self):
        value, = struct.unpack_from("=q", self.map, self.next)
        self.next += 8
        return value

    def string(self):
        size = self.number()
        text = bytes(self.map[self.next:self.next + size])
        self.next += size + 1
        return text.decode("utf-8", "replace")

    def blob(self):
        offset, size = self.blobs[self.next_blob]
        self.next_blob += 1
        return memoryview(self.map)[offset:offset + size]


class Writer:
    def __init__(self):
        self.body = bytearray()
        self.blobs = []

    def number(self, value):
        self.body += struct.pack("=q", value)

    def real(self, value):
        self.body += struct.pack("=d", value)

    def string(self, text):
        data = text.encode("utf-8", "replace")
        self.number(len(data))
        self.body += data + b"\0"

    def blob(self, data):
        self.blobs.append(data)

    def seal(self):
        def align(offset):
            return -(-offset // ALIGNMENT) * ALIGNMENT

        head = HEADER.pack(PARCEL_MAGIC, len(self.body), len(self.blobs))
        end = align(len(head) + BLOB.size * len(self.blobs) + len(self.body))
        places = []
        for data in self.blobs:
            places.append(end)
            head += BLOB.pack(end, len(data), 0, 0)
            end = align(end + len(data))
        file = os.memfd_create("referee")
        os.ftruncate(file, end)
        write_all(file, head + self.body, 0)
        for place, data in zip(places, self.blobs):
            write_all(file, data, place)
        return file


def write_all(file, data, offset):
    data = memoryview(data)
    while len(data) > 0:
        written = os.pwrite(file, data, offset)
        data = data[written:]
        offset += written


# --- the ways of the releases ---


def convert_to_stablehlo(release, module):
    return release.xla.mlir.hlo_to_stablehlo(module)


def convert_to_mhlo(release, module):
    """Not to StableHLO, which has not all that the compiler takes."""
    return release.xla.mlir.xla_computation_to_mlir_module(
        release.hlo.XlaComputation(module), emit_stable_hlo=False)


def convert_computation(release, module):
    return release.xla.mlir.xla_computation_to_mlir_module(release.hlo.XlaComputation(module))


def compile_and_load(release, program, devices, options):
    return release.client.compile_and_load(program, release.xla.DeviceList(tuple(devices)), options)


def compile_for_list(release, program, devices, options):
    return release.client.compile(program, release.xla.DeviceList(tuple(devices)), options)


def compile_for_client(release, program, devices, options):
    return release.client.compile(program, options)


def put_one_by_one(release, pieces, devices):
    return [release.client.buffer_from_pyval(
        piece, device, True, release.xla.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL)
            for piece, device in zip(pieces, devices)]


class Abstract:
    """What batched_device_put asks of an abstract value."""

    def __init__(self, array):
        self.shape, self.dtype, self.weak_type = array.shape, array.dtype, False


def put_and_join(release, pieces, devices):
    """One array that lies on all devices, which it is not asked to lie on in any order."""
    def sharding(some):
        return release.xla.GSPMDSharding(tuple(some), release.hlo.HloSharding.replicate())

    singles = [release.xla.batched_device_put(Abstract(piece), sharding([device]), [piece],
                                              [device], force_copy=True, enable_x64=True)
               for piece, device in zip(pieces, devices)]
    if len(singles) == 1:
        return singles[0]
    return release.xla.ArrayImpl(Abstract(pieces[0]), sharding(devices), singles, True, True)


def get_and_tell(release, piece):
    array, _ = piece._single_device_array_to_np_array_did_copy()
    return array


def get_array(release, piece):
    return piece._single_device_array_to_np_array()


def takes_joined_arrays(release):
    """Alone, and no longer lists of one array a device?"""
    execute = release.xla.LoadedExecutable.execute_sharded
    return "Sequence[Array]," in str(getattr(execute, "__nb_signature__", ""))


# STEP: [(a way, does the release have it?)]
WAYS = {
    "convert": [
        (convert_to_stablehlo, lambda r: hasattr(r.xla.mlir, "hlo_to_stablehlo")),
        (convert_to_mhlo, lambda r: "emit_stable_hlo" in (
            r.xla.mlir.xla_computation_to_mlir_module.__doc__)),
        (convert_computation, lambda r: True),
    ],
    "compile": [
        (compile_and_load, lambda r: hasattr(r.client, "compile_and_load")),
        (compile_for_list, lambda r: "executable_devices" in (r.client.compile.__doc__ or "")),
        (compile_for_client, lambda r: True),
    ],
    "put": [
        (put_and_join, takes_joined_arrays),
        (put_one_by_one, lambda r: True),
    ],
    "get": [
        (get_and_tell, lambda r: hasattr(r.xla.ArrayImpl,
                                         "_single_device_array_to_np_array_did_copy")),
        (get_array, lambda r: True),
    ],
}


class Release:
    """An opened jaxlib: its client, and its ways."""

    def __init__(self, folder, options):
        sys.path.insert(0, folder)
        count = int(options.get("devices", "1"))
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={count}".strip()
        from jaxlib import version, xla_client  # only now are they in the path
        import numpy
        import ml_dtypes
        self.version, self.numpy, self.ml_dtypes = version.__version__, numpy, ml_dtypes
        self.types = options["types"].split()
        self.outcomes = options["outcomes"].split()
        self.client_module = xla_client
        self.xla = xla_client._xla
        # XlaComputation and its like have moved to a module of their own.
        self.hlo = self.xla if hasattr(self.xla, "XlaComputation") else __import__(
            "jaxlib._hlo", fromlist=["_hlo"])
        self.set_jit_state()
        platform = options.get("platform", "cpu")
        makers = {"cpu": "make_cpu_client", "interpreter": "make_interpreter_client"}
        if platform not in makers:
            raise Unsupported(f"platform is cpu or interpreter, not {platform}")
        if not hasattr(xla_client, makers[platform]):
            raise Unsupported(f"jaxlib {self.version} has no {platform} client any more")
        self.client = getattr(xla_client, makers[platform])()
        self.ways = {step: next(way for way, has in ways if has(self))
                     for step, ways in WAYS.items()}

    def set_jit_state(self):
        """What jax would say to jaxlib before anything runs: types of 64 bits stay as they are."""
        jit = self.xla.jax_jit
        if hasattr(jit, "set_thread_local_state_initialization_callback"):
            jit.set_thread_local_state_initialization_callback(lambda: None)
        if hasattr(jit, "global_state"):
            state = jit.global_state()
            for name, value in (("enable_x64", True), ("enable_memories", False)):
                if hasattr(state, name):
                    setattr(state, name, value)

    def describe(self):
        return {
            "platform": self.client.platform,
            "platform_version": self.client.platform_version,
            "jaxlib": self.version,
            "xla_client_version": getattr(self.client_module, "_version", 0),
            "numpy": self.numpy.__version__,
            "python": sys.version.split()[0],
            "ways": {step: way.__name__ for step, way in self.ways.items()},
        }

    def devices(self):
        return self.client.local_devices()

    def dtype(self, kind):
        name = DTYPES.get(self.types[kind], "")
        try:
            return self.numpy.dtype(getattr(self.ml_dtypes, name, name))
        except TypeError:
            raise Unsupported(f"numpy and ml_dtypes know no {self.types[kind]}") from None

    def kind(self, dtype):
        for kind, text in enumerate(self.types):
            if DTYPES.get(text) == str(dtype):
                return kind
        raise Unsupported(f"jaxlib gave an output of {dtype}")


# --- running ---

release = None  # of this process; opened once
kept = {}  # the last executable: the same module often runs again on other arguments


def report_stage(stage):
    connection.send(PACKET.pack(WORKER_MAGIC, STAGE, stage, 0.0))


def first_lines(failure):
    return f"{failure}" or type(failure).__name__


def serve_open(reader, writer):
    global release
    report_stage(LOAD)
    folder = reader.string()
    reader.number()  # a topology
    reader.string()
    options = {}
    for _ in range(reader.number()):
        name = reader.string()
        options[name] = reader.string()
    words, info, ids = "", {}, []
    try:
        release = Release(folder, options)
        info = release.describe()
        ids = [device.id for device in release.devices()]
    except Exception as failure:  # a release that cannot be loaded is an answer
        words = f"{type(failure).__name__}: {first_lines(failure)}"
    writer.number(not words)
    writer.string(words)
    writer.string(json.dumps(info))
    writer.number(len(ids))
    for number in ids:
        writer.number(number)


class Run:
    def __init__(self, reader):
        self.is_mlir = reader.number() != 0
        self.module = bytes(reader.blob())
        self.options = bytes(reader.blob())
        self.iterations = reader.number()
        self.donates = reader.number() != 0
        self.device_ids = [reader.number() for _ in range(reader.number())]
        self.set_count = reader.number()
        self.argument_count = reader.number()
        self.arguments = [self.read_argument(reader)
                          for _ in range(self.set_count * self.argument_count)]
        self.outcome, self.words = "COMPILE_ERROR", ""
        self.compile_seconds = self.run_seconds = 0.0
        self.outputs = []  # [device][output]

    @staticmethod
    def read_argument(reader):
        kind = reader.number()
        rank = reader.number()
        dimensions = [reader.number() for _ in range(rank)]
        for _ in range(rank):
            reader.number()  # its layout: row-major, which the tester sees to
        return kind, dimensions, reader.blob()

    def program(self):
        if self.is_mlir:
            return self.module if self.module[:4] == b"ML\xefR" else self.module.decode()
        try:
            return release.ways["convert"](release, self.module)
        except Exception as failure:
            raise Unsupported(f"jaxlib {release.version} takes MLIR alone, and its conversion of "
                              f"HLO refuses this module: {first_lines(failure)}") from failure

    def compile(self):
        report_stage(COMPILE)
        key = (self.module, self.options)
        if kept.get("key") == key:
            self.executable, self.compile_seconds = kept["executable"], kept["seconds"]
            return
        kept.clear()
        program = self.program()
        options = release.xla.CompileOptions.ParseFromString(self.options)
        by_id = {device.id: device for device in release.devices()}
        devices = [by_id[number] for number in self.device_ids]
        start = time.monotonic()
        self.executable = release.ways["compile"](release, program, devices, options)
        self.compile_seconds = time.monotonic() - start
        if b"rng-get-and-update-state" not in self.module:  # running it leaves no state behind
            kept.update(key=key, executable=self.executable, seconds=self.compile_seconds)

    def pass_arguments(self, devices, places):
        report_stage(TRANSFER)
        arrays = []
        for number in range(self.argument_count):
            pieces = []
            for place in places:
                at = 0 if self.set_count == 1 else place
                kind, dimensions, data = self.arguments[at * self.argument_count + number]
                dtype = release.dtype(kind)
                pieces.append(release.numpy.frombuffer(data, dtype).reshape(dimensions))
            try:
                arrays.append(release.ways["put"](release, pieces, devices))
            except (TypeError, ValueError) as failure:
                raise Unsupported(f"jaxlib {release.version} cannot be given argument {number}: "
                                  f"{first_lines(failure)}") from failure
        return arrays

    def execute(self):
        """On all devices; [output][device] of the last time."""
        devices = self.executable.local_devices()
        places = [self.device_ids.index(device.id) for device in devices]
        arrays = self.pass_arguments(devices, places)
        results = []
        for iteration in range(self.iterations):
            if iteration > 0 and self.donates:
                arrays = self.pass_arguments(devices, places)
            report_stage(EXECUTE)
            start = time.monotonic()
            results = self.executable.execute_sharded(arrays)
            if not isinstance(results, list):
                results = results.disassemble_into_single_device_arrays()
            for output in results:
                for piece in output:
                    piece.block_until_ready()
            seconds = time.monotonic() - start
            self.run_seconds = seconds if iteration == 0 else min(seconds, self.run_seconds)
        return results, places

    def fetch(self, results, places):
        report_stage(FETCH)
        outputs = [[None] * len(results) for _ in places]
        for number, output in enumerate(results):
            for place, piece in zip(places, output):
                array = release.ways["get"](release, piece)
                outputs[place][number] = release.kind(array.dtype), array.shape, array.tobytes()
        self.outputs = outputs

    def run(self):
        try:
            self.compile()
            self.outcome = "RUNTIME_ERROR"
            if self.iterations > 0:
                self.fetch(*self.execute())
            self.outcome = "PASS"
        except Unsupported as failure:
            self.outcome, self.words = "UNSUPPORTED", str(failure)
        except (TypeError, AttributeError) as failure:  # it is not spoken to as it wants
            self.outcome = "UNSUPPORTED"
            self.words = f"jaxlib {release.version}: {first_lines(failure)}"
        except Exception as failure:  # what the compiler or the client says
            self.words = first_lines(failure)
            if isinstance(failure, MemoryError) or "RESOURCE_EXHAUSTED" in self.words:
                self.outcome = "OOM"

    def write(self, writer):
        passed = self.outcome == "PASS"
        writer.number(release.outcomes.index(self.outcome))
        writer.string(self.words)
        writer.real(self.compile_seconds)
        writer.real(self.run_seconds)
        writer.number(len(self.outputs[0]) if passed and self.outputs else 0)
        for device in self.outputs if passed else []:
            for kind, shape, data in device:
                writer.number(kind)
                writer.number(len(shape))
                for size in shape:
                    writer.number(size)
                writer.blob(data)


# --- the process ---


def limit_memory(growth):
    """Lets the address space grow by at most `growth` bytes from here; 0: without limit."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = most
    if growth > 0:
        with open("/proc/self/statm", encoding="ascii") as file:
            limit = int(file.read().split()[0]) * mmap.PAGESIZE + int(growth)
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def watch_tester():
    """Ends the process when the tester is gone, even in the midst of foreign code."""
    poll = select.poll()
    poll.register(SOCKET, 0)
    poll.poll()
    os._exit(0)


def answer(value, limit, file):
    reader, writer = Reader(file), Writer()
    limit_memory(limit if value == RUN else 0)
    if value == OPEN:
        serve_open(reader, writer)
    else:
        run = Run(reader)
        run.run()
        run.write(writer)
    limit_memory(0)
    reply = writer.seal()
    packet = PACKET.pack(WORKER_MAGIC, REPLY, 0, 0.0)
    socket.send_fds(connection, [packet], [reply])
    os.close(reply)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # when memory runs out, this process shall end and not the tester
    except OSError:
        pass
    threading.Thread(target=watch_tester, daemon=True).start()
    while True:
        packet, files, _, _ = socket.recv_fds(connection, PACKET.size, 1)
        if len(packet) != PACKET.size or len(files) != 1:
            os._exit(0)
        magic, kind, value, limit = PACKET.unpack(packet)
        if magic != WORKER_MAGIC or kind != REQUEST:
            os._exit(0)
        answer(value, limit, files[0])


connection = socket.socket(fileno=SOCKET)
main()
