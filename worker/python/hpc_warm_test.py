"""A warm parent, and the copies that it makes, beside ordinary starts of the same program."""
import ctypes
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PR_SET_CHILD_SUBREAPER = 36
# What a program finds that looks at itself.
MIRROR = """
import os, signal, sys, threading, multiprocessing
import heavy, own
fields = dict(
    main=[__name__, __file__, __package__, __spec__ and __spec__.name], argv=sys.argv, words=sys.orig_argv,
    path=sys.path, flags=sys.flags, cwd=os.getcwd(),
    variables=sorted(os.environ.items()),
    files=sorted(os.listdir("/proc/self/fd")),
    leads=[os.getpid() == os.getsid(0), os.getpid() == os.getpgid(0)],
    signals=[str(signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGTERM)],
    threads=[threading.active_count(), threading.current_thread().name],
    process=multiprocessing.current_process().name,
    streams=[(each.encoding, each.errors, each.line_buffering, each.isatty())
             for each in (sys.stdin, sys.stdout, sys.stderr)],
    frames=[getattr(sys._getframe().f_back, "f_code", None) and sys._getframe().f_back.f_code.co_name], words_of_process=open("/proc/self/cmdline").read(),
    heavy=heavy.TIMES, own=own.VALUE, hash=sys.hash_info.algorithm)
for name, value in fields.items():
    print(name, value)
"""


class Venv:
    """An interpreter with packages of its own, and a folder with a program."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder + "/venv"], check=True)
        self.python = folder + "/venv/bin/python"
        self.packages = next(self.folder.glob("venv/lib/python3*/site-packages"))
        self.work = self.folder / "work"
        self.work.mkdir()
        self.package("heavy", "TIMES = []\nTIMES.append('imported')\n")
        self.file("own.py", "VALUE = 1\n")

    def package(self, name, text):
        (self.packages / f"{name}.py").write_text(text)

    def file(self, name, text):
        (self.work / name).write_text(text)


class Parent:
    """Does what the supervisor does (worker/supervisor/warm_parent.h)."""

    def __init__(self, venv, *words, env=None):
        self.venv, self.words = venv, words
        self.env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE), **(env or {})}
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        read, write = os.pipe()
        self.process = subprocess.Popen(
            [venv.python, *words], env={**self.env, "HPC_WARM_SOCKET": str(theirs.fileno())},
            cwd=venv.work, stdin=subprocess.DEVNULL, stdout=write, stderr=write,
            pass_fds=[theirs.fileno()])
        theirs.close()
        os.close(write)
        os.close(read)
        self.socket.send(b"RANK LOCAL_RANK WORLD_SIZE MASTER_PORT HPC_* ")
        self.said = self.hear()

    def hear(self):
        return self.socket.recv(1000).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.kill()
        self.process.wait()

    def copy(self, *arguments, env=None):
        """Its standard output and error, and its wait status; or why there is none."""
        texts = [str(len(arguments)), *arguments,
                 *(f"{k}={v}" for k, v in {**self.env, **(env or {})}.items())]
        ours, theirs = socket.socketpair()
        outputs = [os.pipe(), os.pipe()]
        with open("/dev/null") as null:
            socket.send_fds(self.socket, ["".join(each + "\0" for each in texts).encode()],
                            [null.fileno(), outputs[0][1], outputs[1][1], theirs.fileno()])
        theirs.close()
        for _, write in outputs:
            os.close(write)
        with ours, os.fdopen(outputs[0][0]) as out, os.fdopen(outputs[1][0]) as err:
            word, _, rest = self.hear().partition(" ")
            if word != "rank":
                return rest
            ours.send(b"g")
            return out.read(), err.read(), os.waitpid(int(rest), 0)[1]

    def cold(self, *arguments, env=None):
        ended = subprocess.run([self.venv.python, *self.words, *arguments], cwd=self.venv.work,
                               env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, start_new_session=True)
        code = ended.returncode
        return ended.stdout, ended.stderr, -code if code < 0 else code << 8


class WarmTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.venv = Venv(folder.name)

    def parent(self, text, *words, **options):
        self.venv.file("train.py", text)
        parent = Parent(self.venv, *(words or ["train.py"]), **options)
        self.addCleanup(parent.__exit__)
        return parent

    def same(self, parent, *arguments, env=None):
        copy, cold = parent.copy(*arguments, env=env), parent.cold(*arguments, env=env)
        self.assertEqual(copy, cold)
        return copy

    def test_a_copy_finds_what_an_ordinary_start_finds(self):
        parent = self.parent(MIRROR)
        self.assertRegex(parent.said, "^ready ")
        out, _, _ = self.same(parent, env={"RANK": "3", "MASTER_PORT": "29500"})
        self.assertIn("('RANK', '3')", out)
        self.venv.file("module.py", MIRROR)
        self.same(self.parent("", "-u", "-m", "module"))
        self.same(self.parent("", "-c", MIRROR.replace("__file__, ", "")))

    def test_each_copy_has_its_own_arguments(self):
        parent = self.parent("import sys\nprint(sys.argv, sys.orig_argv)\n")
        for arguments in (["--lr", "0.1"], ["a b", ""], []):
            self.same(parent, *arguments)

    def test_copies_end_as_ordinary_starts_do(self):
        for text in ("import own\nraise ValueError(own.VALUE)\n",
                     "import sys\nsys.exit(7)\n",
                     "import sys\nsys.exit('text')\n",
                     "import atexit\natexit.register(print, 'at exit')\nprint('x', end='')\n",
                     "import os\nos._exit(9)\n",
                     "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
                     "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n",
                     "import os\nos.abort()\n",
                     "import threading\nthreading.Timer(0.1, print, ['later']).start()\n",
                     "if True\n",
                     "import missing\n"):
            with self.subTest(text):
                self.same(self.parent(text))

    def test_processes_that_a_copy_makes_are_those_of_an_ordinary_start(self):
        text = ("import multiprocessing as mp\nimport own\n"
                "def square(x): return x * x\n"
                "if __name__ == '__main__':\n"
                "    for way in ('spawn', 'fork', 'forkserver'):\n"
                "        with mp.get_context(way).Pool(2) as pool:\n"
                "            print(way, pool.map(square, [2, 3]))\n")
        self.same(self.parent(text))

    def test_the_users_own_modules_are_read_by_each_copy(self):
        parent = self.parent("import own\nprint(own.VALUE)\n")
        self.assertEqual(parent.copy()[0], "1\n")
        self.venv.file("own.py", "VALUE = 22\n")
        self.venv.file("train.py", "import own\nprint('now', own.VALUE)\n")
        self.assertEqual(parent.copy()[0], "now 22\n")

    def test_packages_of_the_users_own_modules_are_imported_beforehand(self):
        self.venv.package("slow", "import os\nPID = os.getpid()\n")
        self.venv.file("own.py", "def later():\n    import heavy\nimport slow\n")
        parent = self.parent("import os, own\nprint(own.slow.PID == os.getpid())\n")
        self.assertEqual(parent.copy()[0], "False\n")

    def test_what_comes_behind_a_change_of_the_surroundings_is_not_imported_beforehand(self):
        self.venv.package("early", "import os\nPID = os.getpid()\n")
        self.venv.package("late", "import os\nPID = os.getpid()\nTHREADS = os.environ.get('THREADS')\n")
        self.venv.file("set_up.py", "import os\ndef go():\n    os.environ['THREADS'] = '4'\n")
        ends = "import os\nprint(early.PID == os.getpid(), late.PID == os.getpid(), late.THREADS)\n"
        for change in ("os.environ['THREADS'] = '4'\n",
                       "os.environ.setdefault('THREADS', '4')\n",
                       "os.environ.update(THREADS='4')\n",
                       "if True:\n    os.environ['THREADS'] = '4'\n",
                       "def choose():\n    os.putenv('X', '1')\n    os.environ['THREADS'] = '4'\n"
                       "choose()\n",
                       "e = os.environ\ne['THREADS'] = '4'\n",
                       "from os import environ as E\nE['THREADS'] = '4'\n",
                       "from set_up import go\ngo()\n"):
            with self.subTest(change):
                parent = self.parent("import early, os\n" + change + "import late\n" + ends)
                self.assertEqual(parent.copy()[0], "False True 4\n")
        for other in ("rank = os.environ.get('RANK')\n", "import sys\nsys.path.append('..')\n",
                      "import logging\nlog = logging.getLogger(__name__)\n",
                      "def later():\n    os.environ['THREADS'] = '4'\n"):
            with self.subTest(other):
                parent = self.parent("import early, os\n" + other + "import late\n" + ends)
                self.assertEqual(parent.copy()[0], "False False None\n")

    def test_a_folder_in_front_of_the_path_hides_a_package(self):
        (self.venv.work / "own").mkdir()
        (self.venv.work / "own" / "heavy.py").write_text("TIMES = 'of the user'\n")
        text = "import sys\nsys.path.insert(0, 'own')\nimport heavy\nprint(heavy.TIMES)\n"
        self.assertEqual(self.same(self.parent(text))[0], "of the user\n")

    def test_only_what_surely_is_imported_is_imported_beforehand(self):
        self.venv.package("never", "raise SystemExit('imported')\n")
        text = ("import typing\nif typing.TYPE_CHECKING:\n    import never\n"
                "def later():\n    import never\nprint('main')\n")
        self.assertRegex(self.parent(text).said, "^ready ")

    def test_warnings_that_the_program_does_not_show_are_not_shown(self):
        self.venv.package("old", "import warnings\nwarnings.warn('old')\n")
        self.same(self.parent("import old\n"))
        self.same(self.parent("import warnings\nwarnings.filterwarnings('ignore')\nimport old\n"
                              "warnings.warn('unseen')\n"))

    def test_what_imports_write_each_copy_writes(self):
        self.venv.package("loud", "import sys\nprint('hello')\nprint('careful', file=sys.stderr)\n")
        parent = self.parent("import loud\nprint('main')\n")
        self.same(parent)
        self.same(parent)

    def test_no_two_copies_draw_the_same_numbers(self):
        parent = self.parent("import random, uuid\nprint(random.random(), uuid.uuid4())\n")
        self.assertNotEqual(parent.copy(), parent.copy())
        self.venv.package("seeds", "import random\nrandom.seed(0)\n")
        self.assertEqual(self.parent("import random, seeds\n").said,
                         "cold importing seeds chooses the random numbers")

    def test_a_module_that_is_put_beside_the_program_is_the_one_that_is_imported(self):
        parent = self.parent("import heavy\nprint(heavy.TIMES)\n")
        self.venv.file("heavy.py", "TIMES = 'of the user'\n")
        self.assertEqual(parent.copy(), f"{self.venv.work}/heavy.py hides what was imported")

    def test_an_installed_module_that_is_the_program_runs_in_the_copy_alone(self):
        (self.venv.packages / "proj").mkdir()
        (self.venv.packages / "proj" / "__init__.py").write_text("")
        (self.venv.packages / "proj" / "train.py").write_text(
            "import heavy, os\nprint(__name__, os.environ.get('RANK'))\n")
        parent = self.parent("", "-m", "proj.train", env={})
        self.assertEqual(self.same(parent, env={"RANK": "0"})[0], "__main__ 0\n")

    def test_a_module_that_starts_threads_makes_the_start_cold(self):
        self.venv.package("busy", "import threading, time\n"
                                  "threading.Thread(target=time.sleep, args=[60]).start()\n")
        parent = self.parent("import heavy, busy\n")
        self.assertEqual(parent.said,
                         "cold importing busy starts threads, which no copy would have")

    def test_what_copies_would_share_makes_the_start_cold(self):
        for text, said in (("import socket\nS = socket.socket()\n", "its imports open socket:"),
                           ("import subprocess\nP = subprocess.Popen(['sleep', '60'])\n",
                            "its imports start processes"),
                           ("F = open('/dev/zero')\n", "its imports open /dev/zero")):
            self.venv.package("shares", text)
            self.assertIn("cold " + said, self.parent("import shares\n").said)

    def test_a_module_that_reads_the_rank_makes_the_start_cold(self):
        self.venv.package("knows", "import os\nRANK = os.environ.get('LOCAL_RANK')\n")
        parent = self.parent("import knows\n")
        self.assertEqual(parent.said,
                         "cold importing knows reads LOCAL_RANK, which differs between ranks")
        self.venv.package("looks", "import sys\nARGV = list(sys.argv)\n")
        self.assertEqual(self.parent("import looks\n").said,
                         "cold importing looks reads sys.argv, which differs between ranks")

    def test_a_package_that_has_changed_is_not_used_again(self):
        parent = self.parent("import heavy\nprint(heavy.TIMES)\n")
        self.assertEqual(parent.copy()[0], "['imported']\n")
        self.venv.package("heavy", "TIMES = 'new one'\n")
        self.assertEqual(parent.copy(), f"{self.venv.packages}/heavy.py has changed")
        parent = self.parent("import heavy\n")
        self.venv.package("newcomer", "")
        self.assertEqual(parent.copy(), f"{self.venv.packages} has changed")

    def test_a_parent_ends_with_its_supervisor(self):
        parent = self.parent("import heavy\n")
        parent.socket.close()
        self.assertEqual(parent.process.wait(timeout=10), 0)

    def test_the_program_never_runs_in_a_parent_that_fails(self):
        self.venv.file("train.py", "print('ran')\n")
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE), "HPC_WARM_SOCKET": "77"}
        ended = subprocess.run([self.venv.python, "train.py"], cwd=self.venv.work, env=env,
                               capture_output=True, text=True)
        self.assertEqual((ended.stdout, ended.returncode), ("", 70))

    def test_the_sitecustomize_of_others_runs_all_the_same(self):
        self.venv.package("sitecustomize", "import builtins\nbuiltins.THERE = 'there'\n")
        self.same(self.parent("print(THERE)\n"))

    def test_the_first_python_of_a_rank_notes_that_it_was_here(self):
        note = self.venv.folder / "note"
        self.venv.file("train.py", "import os, subprocess, sys\n"
                                   "print(os.getpid(), 'HPC_PYTHON_NOTE' in os.environ)\n"
                                   "subprocess.run([sys.executable, '-c', 'pass'])\n")
        ended = subprocess.run([self.venv.python, "-u", "train.py", "x"], cwd=self.venv.work,
                               env={"PYTHONPATH": str(HERE), "HPC_PYTHON_NOTE": str(note)},
                               capture_output=True, text=True)
        pid = ended.stdout.split()[0]
        self.assertEqual(ended.stdout, f"{pid} False\n")
        self.assertEqual(note.read_text(), f"{pid}\n")


if __name__ == "__main__":
    unittest.main()
