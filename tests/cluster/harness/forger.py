"""Certificates of a cluster with something wrong about them, made with OpenSSL's own program."""

import pathlib
import subprocess

CONFIG = """
[ca]
default_ca = forged
[forged]
database = {dir}/index.txt
serial = {dir}/serial
new_certs_dir = {dir}
default_md = sha256
policy = any
unique_subject = no
email_in_dn = no
[any]
commonName = optional
[member]
subjectAltName = URI:hpc://{cluster}/{role}/{name}
extendedKeyUsage = {usage}
"""


class Forger:
    """Signs with a cluster's own authority, whose key a test may read."""

    def __init__(self, keys, folder):
        self.keys = pathlib.Path(keys)
        self.dir = pathlib.Path(folder)
        self.dir.mkdir()
        (self.dir / "index.txt").write_text("")
        (self.dir / "serial").write_text("1000\n")

    def membership(self, config_home, address, role, name, start="20200101000000Z",
                   end="20991231000000Z", usage="clientAuth", authorities=None):
        """Writes what `hpcctl login` would; returns the environment that makes hpcctl use it."""
        folder = pathlib.Path(config_home) / "hpc/identity"
        folder.mkdir(parents=True)
        key, request, config = folder / "key", self.dir / "request", self.dir / "config"
        config.write_text(CONFIG.format(dir=self.dir, cluster=(self.keys / "cluster").read_text(),
                                        role=role, name=name, usage=usage))
        self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                      "-out", key)
        self._openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        self._openssl("ca", "-batch", "-config", config, "-cert", self.keys / "authority.pem",
                      "-keyfile", self.keys / "authority.key", "-in", request, "-extensions",
                      "member", "-startdate", start, "-enddate", end, "-notext",
                      "-out", folder / "certificate")
        (folder / "identity.pem").write_text(key.read_text() + (folder / "certificate").read_text())
        (folder / "authorities.pem").write_text(
            (pathlib.Path(authorities or self.keys) / "authority.pem").read_text())
        (folder / "addresses").write_text(f"{address}\n")
        return {"XDG_CONFIG_HOME": str(config_home), "HPC_COORDINATOR": address}

    @staticmethod
    def _openssl(*args):
        done = subprocess.run(["openssl", *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {args[0]}: {done.stderr}")
