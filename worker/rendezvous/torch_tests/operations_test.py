"""Every TCPStore operation, by torch's own client, on torch's own server and on ours: the same
results, and the same bytes.
"""

import datetime
import os
import socket
import struct
import sys
import threading
import unittest

import store_tool

store_tool.use_python_with_torch()
os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"

import torch.distributed as dist  # noqa: E402

# One time-out that must run out, and one that must not even on a busy machine.
SHORT = datetime.timedelta(milliseconds=200)
LONG = datetime.timedelta(seconds=60)
MIB = 1 << 20
HELLO = b"\x00" + struct.pack("<I", 0x3C85F7CE)


def text(data):
    return struct.pack("<Q", len(data)) + data


def outcome(call, *args):
    """What a call returned, or the kind of its failure."""
    try:
        return call(*args)
    except dist.QueueEmptyError:
        return "empty"
    except dist.DistStoreError as error:
        return "timeout" if "timeout" in str(error) else "store error"
    except dist.DistNetworkError:
        return "dropped"


def in_vain(client, call, *args):
    """The outcome of a call that waits for what does not come."""
    client.set_timeout(SHORT)
    result = outcome(call, *args)
    client.set_timeout(LONG)
    return result


def at_once(*calls):
    """The outcomes of calls made by a thread each."""
    results = [None] * len(calls)

    def run(i, call, args):
        results[i] = outcome(call, *args)

    threads = [threading.Thread(target=run, args=(i, call[0], call[1:]))
               for i, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Store:
    """A server to be tried, and clients of it."""

    def __init__(self, port):
        self.port = port

    def client(self):
        return dist.TCPStore("127.0.0.1", self.port, is_master=False, timeout=LONG)

    def exchange(self, request, answer_bytes):
        """Sends bytes; returns up to `answer_bytes` of the answer, and whether it was closed."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(request)
            connection.settimeout(5)
            answer = b""
            try:
                while len(answer) < answer_bytes:
                    if not (some := connection.recv(answer_bytes - len(answer))):
                        return answer, "closed"
                    answer += some
                connection.settimeout(0.2)
                return answer, "closed" if connection.recv(1) == b"" else "more"
            except ConnectionResetError:
                return answer, "closed"
            except TimeoutError:
                return answer, "open"


class OperationsTest(unittest.TestCase):

    def setUp(self):
        self.master = dist.TCPStore(
            "127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=LONG)
        self.server = store_tool.StoreServer(sys.argv[1])
        self.addCleanup(self.server.close)

    def same(self, scenario):
        """Runs a scenario on both servers and expects the same outcomes."""
        theirs = scenario(Store(self.master.port))
        ours = scenario(Store(self.server.port))
        self.assertEqual(ours, theirs)
        return ours

    def test_values(self):
        def scenario(store):
            a, b = store.client(), store.client()
            return [
                outcome(a.set, "k", "v"), outcome(b.get, "k"),
                outcome(a.set, "k", ""), outcome(b.get, "k"),
                outcome(a.set, "", "key is empty"), outcome(b.get, ""),
                outcome(a.set, "ключ", "значение"), outcome(b.get, "ключ"),
                outcome(a.set, "nul\0key", "nul\0value"), outcome(b.get, "nul\0key"),
                outcome(a.append, "k", "ab"), outcome(a.append, "k", "cd"), outcome(b.get, "k"),
                outcome(a.append, "new", "x"), outcome(b.get, "new"),
                in_vain(a, a.get, "missing"),
                outcome(a.delete_key, "k"), outcome(a.delete_key, "k"), in_vain(b, b.get, "k"),
                outcome(a.multi_set, ["m1", "m2", "m3"], ["1", "", "3"]),
                outcome(b.multi_get, ["m3", "m2", "m1"]),
                in_vain(b, b.multi_get, ["m1", "missing"]),
                outcome(a.multi_set, [], []), outcome(b.multi_get, []),
                outcome(a.num_keys), sorted(outcome(a.list_keys)),
            ]
        self.same(scenario)

    def test_compare_set(self):
        def scenario(store):
            a = store.client()
            return [
                outcome(a.compare_set, "k", "wrong", "new"), outcome(a.check, ["k"]),
                outcome(a.compare_set, "k", "", "first"), outcome(a.get, "k"),
                outcome(a.compare_set, "k", "wrong", "new"), outcome(a.get, "k"),
                outcome(a.compare_set, "k", "first", "second"), outcome(a.get, "k"),
                outcome(a.compare_set, "k", "second", ""), outcome(a.get, "k"),
                outcome(a.compare_set, "k", "", "third"), outcome(a.get, "k"),
            ]
        self.same(scenario)

    def test_add(self):
        def scenario(store):
            a, b = store.client(), store.client()
            results = [
                outcome(a.add, "n", 1), outcome(b.add, "n", 41), outcome(a.add, "n", -50),
                outcome(a.get, "n"), outcome(a.add, "n", 2**62), outcome(a.add, "zero", 0),
                outcome(a.set, "text", " 12abc"), outcome(a.add, "text", 1), outcome(a.get, "text"),
                outcome(a.set, "text", "+7"), outcome(a.add, "text", 1),
                outcome(a.set, "text", "0x10"), outcome(a.add, "text", 1),
            ]
            for bad in ["", "abc", "-", "9223372036854775808"]:
                results += [outcome(a.set, "text", bad), outcome(store.client().add, "text", 1)]
            return results
        self.assertIn("dropped", self.same(scenario))

    def test_check_and_wait(self):
        def scenario(store):
            a, b = store.client(), store.client()
            results = [
                outcome(a.check, []), outcome(a.check, ["k"]),
                outcome(a.wait, ["k"], SHORT), outcome(a.wait, ["k"], SHORT),
                outcome(a.set, "k", "v"), outcome(a.check, ["k"]), outcome(a.wait, ["k"], LONG),
                outcome(a.check, ["k", "l"]), outcome(a.wait, ["k", "l"], SHORT),
                outcome(a.wait, [], LONG),
            ]
            results += at_once((b.wait, ["k", "l", "m"], LONG), (a.multi_set, ["l", "m"], ["", ""]))
            # After a wait that ran out, the connection can be used as before.
            results += [outcome(a.wait, ["late"], SHORT), outcome(b.set, "late", "1"),
                        outcome(a.get, "late")]
            return results
        self.same(scenario)

    def test_queues(self):
        def scenario(store):
            a, b = store.client(), store.client()
            results = [
                outcome(a.queue_len, "q"), outcome(a.queue_pop, "q", False),
                outcome(a.queue_push, "q", "1"), outcome(a.queue_push, "q", ""),
                outcome(b.queue_len, "q"), outcome(a.check, ["q"]), outcome(a.wait, ["q"], LONG),
                outcome(b.queue_pop, "q", False), outcome(b.queue_pop, "q", True),
                outcome(a.check, ["q"]), outcome(a.wait, ["q"], SHORT),
                outcome(a.queue_push, "q", "3"), outcome(a.delete_key, "q"),
                outcome(a.num_keys), outcome(a.queue_len, "q"), sorted(outcome(a.list_keys)),
                outcome(a.queue_pop, "q", True),
            ]
            results += at_once((a.queue_pop, "q", True), (b.queue_push, "q", "4"))
            c = store.client()
            # Two clients that wait get one element each.
            got = at_once((a.queue_pop, "w", True), (b.queue_pop, "w", True),
                          (lambda: (c.queue_push("w", "5"), c.queue_push("w", "6")),))
            results.append(sorted(got[:2]))
            return results
        self.same(scenario)

    def test_barrier(self):
        def scenario(store):
            a, b, c = (store.client() for _ in range(3))
            results = at_once(*((one.barrier, "b", 3, LONG) for one in (a, b, c)))
            return results + [
                outcome(a.get, "b"), outcome(a.barrier, "b", 3, LONG), outcome(a.get, "b"),
                outcome(a.barrier, "alone", 2, SHORT), outcome(a.get, "alone"),
                outcome(b.barrier, "alone", 2, LONG), outcome(a.check, ["alone"]),
                outcome(a.barrier, "one", 1, LONG), outcome(a.barrier, "none", 0, LONG),
                outcome(a.set, "text", "x"), outcome(store.client().barrier, "text", 2, LONG),
            ]
        self.same(scenario)

    def test_limits(self):
        def set_then_ask(client, key, value):
            client.set(key, value)
            return client.num_keys()

        def scenario(store):
            a = store.client()
            keys = ["k"] * 131072
            return [
                outcome(a.set, "k", "v" * (8 * MIB)), len(outcome(a.get, "k")),
                outcome(a.set, "k" * 8191, "v"), outcome(a.get, "k" * 8191),
                outcome(a.check, keys), outcome(a.wait, keys, LONG),
                outcome(a.set, "k", "v"), len(outcome(a.multi_get, keys)),
                outcome(set_then_ask, store.client(), "k", "v" * (8 * MIB + 1)),
                outcome(set_then_ask, store.client(), "k" * 8192, "v"),
                outcome(lambda: store.client().check(keys + ["k"])),
                outcome(lambda: store.client().multi_get(keys + ["k"])),
                outcome(a.get, "k"),
            ]
        self.assertEqual(self.same(scenario)[-5:-1], ["dropped"] * 4)

    def test_clones_and_prefixes(self):
        def scenario(store):
            a = store.client()
            clone = a.clone()
            prefixed = dist.PrefixStore("p", clone)
            return [outcome(clone.set, "k", "v"), outcome(a.get, "k"),
                    outcome(prefixed.set, "k", "w"), outcome(a.get, "p/k"), outcome(a.num_keys)]
        self.same(scenario)
        # A clone is another connection of the same process.
        self.assertEqual(self.server.status()["arrivals"], [("127.0.0.1", os.getpid())])

    def test_the_master_waits_for_its_workers(self):
        workers = [Store(self.server.port).client() for _ in range(3)]
        self.assertEqual([one.add("joined", 1) for one in workers], [1, 2, 3])
        with_count = dist.TCPStore("127.0.0.1", self.server.port, world_size=4, is_master=False,
                                   timeout=LONG)
        self.assertEqual(with_count.num_keys(), 2)  # init/ and /joined

    def test_bytes(self):
        """What torch's client never sends, or hides."""
        requests = {
            "get of a missing key": (b"\x03" + text(b"missing"), 8),
            "multi_get of missing keys": (
                b"\x0a" + struct.pack("<Q", 2) + text(b"a") + text(b"b"), 16),
            "cancel with no wait": (b"\x0c", 1),
            "wait for nothing": (b"\x06" + struct.pack("<Q", 0), 1),
            "wait for a key named twice": (
                b"\x01" + text(b"k") + text(b"") +
                b"\x06" + struct.pack("<Q", 2) + text(b"k") + text(b"k"), 1),
            "wait and cancel": (b"\x06" + struct.pack("<Q", 1) + text(b"missing") + b"\x0c", 1),
            "many at once": (
                b"\x0d" + struct.pack("<I", 7) + b"\x04" + text(b"n") + struct.pack("<q", -3) +
                b"\x10" + text(b"q") + b"\x0e" + text(b"q") + text(b"x") + b"\x0f" + text(b"q") +
                b"\x0f" + text(b"q") + b"\x05" + struct.pack("<Q", 1) + text(b"n"),
                4 + 8 + 8 + 8 + 8 + 1 + 8 + 1),
            "an unknown request": (b"\x13", 1),
            "a second VALIDATE": (HELLO, 1),
            "a key too long": (b"\x03" + struct.pack("<Q", 8193), 1),
            "a value too long": (b"\x01" + text(b"k") + struct.pack("<Q", 8 * MIB + 1), 1),
        }
        for name, (request, answer_bytes) in requests.items():
            with self.subTest(name):
                self.same(lambda store: store.exchange(HELLO + request, answer_bytes))

    def test_bad_greetings_are_closed(self):
        # torch's server lets such a client hang.
        ours = Store(self.server.port)
        for greeting in [b"\x00\xde\xad\xbe\xef", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 20]:
            self.assertEqual(ours.exchange(greeting, 1), (b"", "closed"))
        self.assertEqual(self.server.status()["refused"], 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
