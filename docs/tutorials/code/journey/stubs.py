"""Message classes built from the descriptors in the sandbox package, in place of compiled stubs."""

from functools import cache
from importlib.resources import files

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass


@cache
def method(operation):
    service, _, name = operation.partition("/")
    return pool().FindServiceByName(service).FindMethodByName(name)


def request_type(operation):
    return GetMessageClass(method(operation).input_type)


def response_type(operation):
    return GetMessageClass(method(operation).output_type)


@cache
def pool():
    contract = DescriptorPool()
    descriptors = files("sim.contract.pb").joinpath("contract.binpb").read_bytes()
    for file in FileDescriptorSet.FromString(descriptors).file:
        contract.Add(file)
    return contract
