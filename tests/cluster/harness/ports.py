"""Ports for what cannot choose its own."""

import random
import socket


def free_ports(count, host="127.0.0.1"):
    """Below those that the kernel gives to connections: one of those would be lost to another program
    before who is told it listens there."""
    ports = set()
    while len(ports) < count:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
                ports.add(port)
            except OSError:
                pass
    return list(ports)


def free_port(host="127.0.0.1"):
    return free_ports(1, host)[0]
