"""What a fit runs on: devices, memory, threads, jobs, modes of torch, random streams, recorded steps."""
