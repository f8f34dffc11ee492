"""As much of numpy as the worker of jaxlib: asks for: arrays of bytes with a type and a shape."""
__version__ = "0"
NAMES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64", "complex64", "complex128"}


class dtype:
    def __init__(self, name):
        if name not in NAMES:
            raise TypeError(f"data type {name!r} not understood")
        self.name = name

    def __str__(self):
        return self.name


class Array:
    def __init__(self, data, kind, shape=None):
        self.data, self.dtype, self.shape = bytes(data), kind, shape

    def reshape(self, shape):
        return Array(self.data, self.dtype, tuple(shape))

    def tobytes(self):
        return self.data


def frombuffer(data, kind):
    return Array(data, kind)
