"""Prints what nvidia-ml-py reads, one line for each GPU in PCI bus order and for each process."""

try:
    import pynvml
except ImportError:
    raise SystemExit("no nvidia-ml-py")

pynvml.nvmlInit()
print("driver", pynvml.nvmlSystemGetDriverVersion())
gpus = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
for gpu in sorted(gpus, key=lambda gpu: pynvml.nvmlDeviceGetPciInfo(gpu).bus):
    memory = pynvml.nvmlDeviceGetMemoryInfo(gpu)
    print(
        pynvml.nvmlDeviceGetPciInfo(gpu).busId,
        pynvml.nvmlDeviceGetUUID(gpu),
        pynvml.nvmlDeviceGetName(gpu),
        memory.total,
        memory.used,
        pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
    )
    for process in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu):
        print("C", process.pid, process.usedGpuMemory or 0)
    for process in pynvml.nvmlDeviceGetGraphicsRunningProcesses(gpu):
        print("G", process.pid, process.usedGpuMemory or 0)
pynvml.nvmlShutdown()
