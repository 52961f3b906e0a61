"""Says how TensorFlow understands TF_CONFIG: for each argument the task, then all addresses in order."""
import os
import sys

import tensorflow as tf

for config in sys.argv[1:]:
    os.environ["TF_CONFIG"] = config
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    spec = resolver.cluster_spec()
    tf.compat.v1.train.ClusterSpec(spec).as_cluster_def()
    addresses = [spec.task_address(job, i) for job in sorted(spec.jobs) for i in spec.task_indices(job)]
    print(resolver.task_type, resolver.task_id, *addresses)
