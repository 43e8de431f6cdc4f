"""Finds what a program imports of installed packages, without running it."""
import ast
import importlib.machinery
import importlib.util
import os
import site
import sys

_MOST_FILES = 200  # of the user's own


def of_program():
    """Lines "module" or "module attribute", in the order in which the program imports them.

    A line "-" says that the program changes what is done with warnings. It ends where the program does
    anything that may change what it imports later, such as a variable or sys.path: that is any call
    but a few, and whatever is put into something.
    """
    words = sys.orig_argv
    first = len(words) - len(sys.argv)
    search = _Search()
    if sys.argv[0] == "-c":
        search.text(words[first], os.getcwd())
    elif sys.argv[0] == "-m":
        search.folders = [os.getcwd()]
        search.main(words[first])
    else:
        script = os.path.realpath(words[first])
        search.folders = [os.path.dirname(script)]
        search.file(script)
    return "".join("%s %s\n" % each if each[1] else each[0] + "\n" for each in search.found)


class _Search:
    def __init__(self):
        self.folders = [os.getcwd()]  # of the user's own modules
        self.found = []
        self._ended = False
        self._seen = set()
        installed = site.getsitepackages()
        if site.ENABLE_USER_SITE:
            installed = installed + [site.getusersitepackages()]
        self._installed = [os.path.realpath(each) + os.sep for each in installed]
        self._standard = os.path.dirname(os.__file__) + os.sep

    def file(self, path):
        if path in self._seen or len(self._seen) >= _MOST_FILES:
            return
        self._seen.add(path)
        try:
            with open(path, "rb") as file:
                source = file.read(4 << 20)
        except OSError:
            return
        self.text(source, os.path.dirname(path))

    def text(self, source, folder):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in _run_at_import(tree):
            if self._ended:
                return
            if isinstance(node, ast.Import):
                for each in node.names:
                    self.module(each.name)
            elif isinstance(node, ast.ImportFrom) and node.level:
                self._relative(node, folder)
            elif isinstance(node, ast.ImportFrom):
                self.module(node.module)
                for each in node.names:
                    self._attribute(node.module, each.name)
            elif _names(node) & {"filterwarnings", "simplefilter"}:
                self._add("-", "")
            else:
                self._ended = _may_change_imports(node)

    def main(self, name):
        """The module that is the program: it is read, and only its packages are imported."""
        if self._own(name):
            return self.module(name)
        package = name.rpartition(".")[0]
        if package:
            self.module(package)
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return
        if spec is not None and spec.has_location:
            self.file(spec.origin)

    def module(self, name):
        own = self._own(name)
        if own:
            for each in own:
                self.file(each)
        elif self._is_installed(name.partition(".")[0]):
            self._add(name, "")

    def _attribute(self, module, name):
        own = self._own("%s.%s" % (module, name))
        if self._own(module):
            for each in own:
                self.file(each)
        elif name != "*" and self._is_installed(module.partition(".")[0]):
            self._add(module, name)

    def _relative(self, node, folder):
        for _ in range(node.level - 1):
            folder = os.path.dirname(folder)
        names = node.module.split(".") if node.module else []
        for each in _files(folder, names) if names else []:
            self.file(each)
        for alias in node.names:
            for each in _files(folder, names + [alias.name]):
                self.file(each)

    def _own(self, name):
        """The user's own files that importing it runs; none if it is not the user's."""
        for folder in self.folders:
            found = _files(folder, name.split("."))
            if found:
                return found
        return []

    def _is_installed(self, top):
        if top in sys.builtin_module_names:
            return True
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):
            return False
        if spec is None:
            return False
        places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or [])
        return spec.origin == "frozen" or any(
            place.startswith(self._standard) or
            os.path.realpath(place).startswith(tuple(self._installed))
            for place in places if place)

    def _add(self, name, attribute):
        if (name, attribute) not in self.found:
            self.found.append((name, attribute))


def _run_at_import(tree):
    """What runs when the module does, in order, as far as is sure: imports, and other statements.

    That is the module itself, with its classes, "try", "with", and "if __name__ == ...". What an
    "if" or a loop does is left whole.
    """
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "__name__" in _names(node.test):
            waiting[:0] = node.body
        elif isinstance(node, (ast.ClassDef, ast.With)):
            waiting[:0] = node.body
        elif isinstance(node, ast.Try):
            waiting[:0] = node.body + node.orelse + node.finalbody
        else:
            yield node


def _names(node):
    """All names in it, also those behind a dot."""
    return {each.id if isinstance(each, ast.Name) else each.attr
            for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))}


# Calls that change nothing outside of what they return.
_HARMLESS = {
    "logging.getLogger", "getLogger", "sys.path.append", "os.environ.get", "os.getenv", "getenv",
    "TypeVar", "typing.TypeVar", "namedtuple", "collections.namedtuple", "re.compile", "int", "float",
    "str", "bool", "len", "set", "dict", "list", "tuple", "frozenset", "range", "print", "super",
    "warnings.filterwarnings", "warnings.simplefilter", "filterwarnings", "simplefilter"}
_HARMLESS_BEGINNINGS = ("os.path.", "Path(", "pathlib.Path(", "Path.", "pathlib.Path.")


def _is_harmless(call):
    name = ast.unparse(call.func)
    return name in _HARMLESS or name in ("Path", "pathlib.Path") or name.startswith(
        _HARMLESS_BEGINNINGS)


def _may_change_imports(node):
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and not _is_harmless(each):
            return True
        if isinstance(each, (ast.Subscript, ast.Attribute)) and isinstance(
                each.ctx, (ast.Store, ast.Del)):
            return True
    return False


def _files(folder, names):
    """The files that importing the module runs, if it is below the folder."""
    found = []
    for name in names:
        folder = os.path.join(folder, name)
        if os.path.isfile(folder + ".py"):
            return found + [folder + ".py"]
        if not os.path.isdir(folder):
            return found if found and found[-1].endswith("__init__.py") else []
        if os.path.isfile(os.path.join(folder, "__init__.py")):
            found.append(os.path.join(folder, "__init__.py"))
    return found
