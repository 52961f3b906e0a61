"""Loads TensorFlow's 1.15 test files on a TensorFlow 2, and redirects their sessions and servers.

Nothing here changes what a test does or checks. Names that have moved since 1.15 are restored in the modules that the
tests import them from. The address that a session opens on and the class that starts a server are replaced.
"""
import base64
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import threading
import types

# Modules that have moved as a whole.
MOVED = {
    "tensorflow.python.training.tracking.util": "tensorflow.python.checkpoint.checkpoint",
    "tensorflow.python.training.tracking.tracking": "tensorflow.python.trackable.autotrackable",
    "tensorflow.python.training.tracking.base": "tensorflow.python.trackable.base",
    "tensorflow.python.training.tracking.data_structures": "tensorflow.python.trackable.data_structures",
    "tensorflow.python.training.tracking.graph_view": "tensorflow.python.checkpoint.graph_view",
    "tensorflow.python.training.tracking.python_state": "tensorflow.python.trackable.python_state",
    "tensorflow.python.distribute.distribution_strategy_context": "tensorflow.python.distribute.distribute_lib",
    "tensorflow.python.training.saving.functional_saver": "tensorflow.python.checkpoint.functional_saver",
    "tensorflow.python.training.training_ops": "tensorflow.python.ops.gen_training_ops",
    "tensorflow.python.ops.gen_kernel_tests": "tensorflow.python.framework.test_ops",
    "tensorflow.contrib.framework.python.ops.variables": "tensorflow.python.training.training_util",
    "tensorflow.contrib.framework.python.framework.checkpoint_utils": "tensorflow.python.training.checkpoint_utils",
}
# Packages that are gone.
EMPTY = {"tensorflow.python.training.tracking", "tensorflow.python.training.saving", "tensorflow.contrib"}

# Where names have gone that were in other modules; the first that has it counts.
NEW_HOMES = [
    "ops.cond", "ops.while_loop", "ops.control_flow_case", "ops.control_flow_assert", "ops.control_flow_switch_case",
    "ops.array_ops_stack", "ops.variable_v1", "ops.ref_variable", "ops.tensor_getitem_override", "ops.init_ops",
    "framework.tensor", "framework.tensor_conversion", "framework.tensor_conversion_registry",
    "framework.indexed_slices", "framework.composite_tensor", "framework.type_spec", "framework.tensor_shape",
    "framework.tensor_spec", "framework.errors", "framework.errors_impl", "framework.dtypes", "framework.stack",
    "framework.device", "framework.function", "framework.smart_cond",
    "eager.polymorphic_function.polymorphic_function", "eager.def_function", "eager.context", "eager.backprop",
    "ops.gen_math_ops", "ops.gen_array_ops", "ops.gen_control_flow_ops", "ops.gen_data_flow_ops", "ops.gen_nn_ops",
    "ops.gen_state_ops", "ops.gen_resource_variable_ops", "ops.gen_string_ops", "ops.gen_sparse_ops",
    "ops.gen_logging_ops", "ops.gen_functional_ops", "ops.gen_random_ops", "ops.gen_io_ops", "ops.gen_list_ops",
    "ops.gen_training_ops", "ops.math_ops", "ops.array_ops", "ops.variables", "ops.control_flow_ops", "framework.ops",
    "framework.function_def_to_graph", "training.training_util", "training.saver", "checkpoint.checkpoint_management",
    "distribute.distribute_lib",
]


def _fallback(module):
  def find(name):
    if name.startswith("__"):
      raise AttributeError(name)
    for home in NEW_HOMES:
      home = "tensorflow.python." + home
      if home == module.__name__:
        continue
      try:
        other = importlib.import_module(home)
      except ImportError:
        continue
      if name in other.__dict__:
        return other.__dict__[name]
    raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
  return find


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
  """Moved modules, and helper modules of the tests that are not in the wheel."""

  def __init__(self, source):
    self.source = source

  def find_spec(self, name, path=None, target=None):
    if name in MOVED or name in EMPTY or name == "portpicker":
      return importlib.machinery.ModuleSpec(name, self, is_package=name in EMPTY)
    if name.startswith("tensorflow."):
      file = os.path.join(self.source, *name.split(".")) + ".py"
      if os.path.isfile(file):
        return importlib.util.spec_from_file_location(name, file)
      if os.path.isdir(file[:-3]):
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        EMPTY.add(name)
        return spec
    return None

  def create_module(self, spec):
    if spec.name == "portpicker":
      module = types.ModuleType("portpicker")
      module.pick_unused_port = free_port
      module.return_port = lambda port: None
      return module
    if spec.name in EMPTY:
      return None
    return importlib.import_module(MOVED[spec.name])

  def exec_module(self, module):
    if module.__spec__ is None:
      return


def free_port():
  import socket
  with socket.socket() as s:
    s.bind(("localhost", 0))
    return s.getsockname()[1]


def old_names(source):
  """Gives TensorFlow and numpy the names of 1.15's day."""
  import numpy as np
  for name, value in {
      "float": float, "int": int, "object": object, "str": str, "complex": complex, "long": int, "NaN": np.nan,
      "Inf": np.inf, "NAN": np.nan, "PINF": np.inf, "NINF": -np.inf, "infty": np.inf, "float_": np.float64,
      "complex_": np.complex128, "string_": np.bytes_, "unicode_": np.str_, "product": np.prod,
      "cumproduct": np.cumprod, "alltrue": np.all, "sometrue": np.any, "asscalar": lambda a: a.item(),
      "row_stack": np.vstack,
  }.items():
    if name not in np.__dict__:
      setattr(np, name, value)
  sys.meta_path.append(_Finder(source))
  from tensorflow.core.protobuf import config_pb2
  from tensorflow.core.protobuf import rpc_options_pb2
  if not hasattr(config_pb2, "RPCOptions"):
    config_pb2.RPCOptions = rpc_options_pb2.RPCOptions
  from tensorflow.python.framework import ops
  from tensorflow.python.framework import test_util
  ops.RegisterShape = lambda op_type: (lambda f: f)  # did nothing in 1.15 either
  both_modes = test_util.run_in_graph_and_eager_modes
  def run_in_graph_and_eager_modes(func=None, config=None, use_gpu=True, reset_test=True,
                                   assert_no_eager_garbage=False):
    del reset_test
    return both_modes(func, config, use_gpu, assert_no_eager_garbage)
  test_util.run_in_graph_and_eager_modes = run_in_graph_and_eager_modes
  import unittest
  for old, new in {"assertItemsEqual": "assertCountEqual", "assertEquals": "assertEqual",
                   "assertNotEquals": "assertNotEqual", "assertRaisesRegexp": "assertRaisesRegex",
                   "assertRegexpMatches": "assertRegex"}.items():
    if not hasattr(unittest.TestCase, old):
      setattr(unittest.TestCase, old, getattr(unittest.TestCase, new))
  for name in list(sys.modules):
    if name.startswith("tensorflow.python.") and isinstance(sys.modules[name], types.ModuleType):
      module = sys.modules[name]
      package = name.split(".")[2]
      if package in ("framework", "ops", "training", "eager", "client", "platform", "util", "data", "distribute") \
          and "__getattr__" not in module.__dict__ and not hasattr(module, "__path__"):
        module.__getattr__ = _fallback(module)


class Used:
  """What the running test has used."""
  steps = 0
  servers = 0
  ops = set()  # those of the graph, if the server lacks one


def count_steps():
  """Counts the steps that run on a remote master."""
  from tensorflow.python.client import session
  for name in ("_call_tf_sessionrun", "_call_tf_sessionprun", "_extend_graph"):
    def wrap(original):
      def call(self, *args):
        if self._target and args:
          Used.steps += 1
        try:
          return original(self, *args)
        except Exception as e:
          if "No op '" in str(e):
            graph = self.graph.as_graph_def()
            Used.ops.update(n.op for n in graph.node)
            for f in graph.library.function:
              Used.ops.update(n.op for n in f.node_def)
              Used.ops.discard(f.signature.name)
          raise
      return call
    setattr(session.BaseSession, name, wrap(getattr(session.BaseSession, name)))
  make = session.BaseSession._make_callable_from_options
  def make_callable(self, options):
    made = make(self, options)
    if self._target:
      Used.steps += 1
    return made
  session.BaseSession._make_callable_from_options = make_callable
  devices = session.BaseSession.list_devices
  def list_devices(self):
    if self._target:
      Used.steps += 1
    return devices(self)
  session.BaseSession.list_devices = list_devices


def default_target(default):
  """Opens local sessions on this target instead, isolated from each other as local sessions are."""
  from tensorflow.core.protobuf import config_pb2
  from tensorflow.python.client import session
  init = session.BaseSession.__init__
  def __init__(self, target="", graph=None, config=None):
    if not target:
      target = default
      if config is None or isinstance(config, config_pb2.ConfigProto):
        own = config_pb2.ConfigProto()
        if config is not None:
          own.CopyFrom(config)
        own.isolate_session_state = True
        config = own
    init(self, target, graph, config)
  session.BaseSession.__init__ = __init__


class Host:
  """The process of the Millrace servers that a test starts. Tests start servers from several threads."""
  command = None
  process = None
  lock = threading.Lock()

  @classmethod
  def start(cls, cluster_def, job, task, sessions):
    line = base64.b64encode(cluster_def.SerializeToString()).decode()
    config = base64.b64encode(sessions.SerializeToString()).decode()
    with cls.lock:
      if cls.process is None:
        log = open(os.environ.get("MILLRACE_HOST_LOG", os.devnull), "a")
        cls.process = subprocess.Popen(cls.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                       text=True)
      cls.process.stdin.write(f"{config} {job} {task} {line}\n")
      cls.process.stdin.flush()
      answer = cls.process.stdout.readline().strip()
    if not answer.startswith("ok "):
      raise RuntimeError("the Millrace server did not start: " + answer)
    return answer[3:]

  @classmethod
  def stop(cls):
    if cls.process is not None:
      cls.process.kill()
      cls.process.wait()
      cls.process = None


def millrace_servers(command):
  """Replaces tf.train.Server by a Millrace server."""
  Host.command = command
  from tensorflow.core.protobuf import config_pb2
  from tensorflow.python.framework import errors
  from tensorflow.python.training import server_lib

  class Server(server_lib.Server):
    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
      self._server_def = server_lib._make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
      self._target = None
      Used.servers += 1
      if start:
        self.start()

    def start(self):
      if self._target is None:
        d = self._server_def
        sessions = config_pb2.ConfigProto()
        sessions.CopyFrom(d.default_session_config)
        # An empty message would be no word on the line.
        sessions.device_count["CPU"] = sessions.device_count["CPU"] or 1
        self._target = Host.start(d.cluster, d.job_name, d.task_index, sessions)

    def join(self):
      threading.Event().wait()

    @property
    def target(self):
      return self._target

    def __del__(self):
      pass

    @staticmethod
    def create_local_server(config=None, start=True):
      return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)

  original = server_lib.Server
  server_lib.Server = Server
  for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").startswith("tensorflow"):
      for name, value in list(getattr(module, "__dict__", {}).items()):
        if value is original:
          setattr(module, name, Server)
