"""HyperQueue's server and workers in one process, as its Python package offers them; no journal.

Run by the interpreter that has the package:  hyperqueue_server.py FOLDER WORKERS CORES
Each line on standard input is a number of tasks (/bin/true); answered is the time in seconds from
their submission until the client has seen the end of all. It looks once a second.
"""

import os
import sys
import time

import hyperqueue
from hyperqueue.cluster import LocalCluster, WorkerConfig

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # HyperQueue writes to standard output, too

folder, workers, cores = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with LocalCluster(server_dir=folder) as cluster:
    for _ in range(workers):
        cluster.start_worker(WorkerConfig(cores=cores))
    client = cluster.client()
    print("ready", file=answers)
    for line in sys.stdin:
        job = hyperqueue.Job()
        for _ in range(int(line)):
            job.program(["/bin/true"], stdout=None, stderr=None)
        begin = time.monotonic()
        submitted = client.submit(job)
        client.wait_for_jobs([submitted])
        print(time.monotonic() - begin, file=answers)
        client.forget(submitted)
