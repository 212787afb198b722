"""The embedded MySQL server: how its data folder is made, how it is started, and every setting of it with its reason.

In: a mysqld (mysql_fetch.py finds it). Out: a Recipe for server.py. MEANING holds for a server of the user's own too.
"""

import os
from pathlib import Path

from workbench import paths
from workbench.backends import server

OWNER = "root"
SOCKET = "mysql.sock"
CHARSET, COLLATION = "utf8mb4", "utf8mb4_0900_bin"
CONNECTION_MEMORY = 2 * 2**30  # bytes that one statement may hold, where the server counts them
MEMORY = 6 * 2**30  # bytes of address space of the server, of which it takes 0.8 GiB at once
# What a statement means under; set by every session, so that a server of the user's own means the same.
MEANING = {
    "time_zone": "'+00:00'",
    "lc_time_names": "'en_US'",
    "sql_mode": "'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION'",  # the default of 8 and 9
    "div_precision_increment": "4",  # the default: AVG of integers has four decimals
    "cte_max_recursion_depth": "1000",  # the default: beyond is an error
    "group_concat_max_len": "67108864",  # the default, 1024 bytes, cuts results with no more than a warning
    "max_sort_length": "8388608",  # the default sorts long texts by their first 1024 bytes
    "sort_buffer_size": "4194304",  # the default is an error for rows with long texts
}
# Options of the embedded server. `loose-`: a version that has dropped the option goes on without it.
SETTINGS = {
    "character-set-server": CHARSET,
    "collation-server": COLLATION,  # compares as SQLite's BINARY does: by code point; case and trailing spaces count
    "default-time-zone": "+00:00",
    "lower-case-table-names": "0",  # names of tables are kept, and told apart, as they are spelled
    # walls
    "skip-networking": "ON",
    "loose-mysqlx": "OFF",  # another protocol, with a port of its own
    "secure-file-priv": "NULL",  # no LOAD_FILE, no INTO OUTFILE
    "local-infile": "ON",  # the loader sends rows so; other connections of ours do not offer it
    "loose-global-connection-memory-tracking": "ON",
    "loose-connection-memory-limit": CONNECTION_MEMORY,
    "max-allowed-packet": "64M",  # of one value; a function's larger result becomes NULL and a warning
    "max-connections": "500",
    # copies can be made again
    "skip-log-bin": None,
    "innodb-flush-log-at-trx-commit": "2",  # a killed server has lost nothing, a machine without power may have
    "innodb-doublewrite": "OFF",
    "loose-innodb-log-writer-threads": "OFF",  # two processors
    # the same plan for the same contents, so that ties at a LIMIT fall the same way in every copy
    "innodb-stats-persistent-sample-pages": "1024",  # of a table's pages; by default 20 random ones
    "innodb-stats-auto-recalc": "OFF",  # the loader has said ANALYZE
    # small and quiet
    "innodb-buffer-pool-size": "256M",
    "loose-innodb-buffer-pool-dump-at-shutdown": "OFF",
    "loose-innodb-buffer-pool-load-at-startup": "OFF",
    "performance-schema": "OFF",
    "loose-event-scheduler": "OFF",
    "log-error-verbosity": "1",  # hostile statements must not fill the disk with their words
    "loose-auto-generate-certs": "OFF",  # nobody comes over a network
    "loose-caching-sha2-password-auto-generate-rsa-keys": "OFF",
}


def recipe() -> server.Recipe:
    """The embedded server: its own root password, a unix socket and no network."""
    from workbench.backends import mysql_fetch  # not above: it is also run by itself

    program = mysql_fetch.find_program()
    root = mysql_fetch.private_copy(program)

    def mysqld(binaries: Path, data: Path) -> list[str]:
        if root is None:
            return [str(program.path), "--no-defaults", f"--datadir={data}"]
        places = {
            "basedir": "",
            "lc-messages-dir": "share",
            "character-sets-dir": "share/charsets",
            "plugin-dir": "lib/plugin",
        }
        options = [f"--{option}={binaries / place}" for option, place in places.items()]
        return [*mysql_fetch.command(binaries), "--no-defaults", *options, f"--datadir={data}"]

    def settings() -> list[str]:
        return [f"--{option}" if value is None else f"--{option}={value}" for option, value in SETTINGS.items()]

    def initialise(binaries: Path, data: Path, secret_file: Path) -> list[str]:
        first = secret_file.with_name("first.sql")
        first.touch(mode=0o600)
        first.write_text(
            f"ALTER USER '{OWNER}'@'localhost' IDENTIFIED BY '{secret_file.read_text()}';\n"
            # a page on disk costs what one in memory does: a plan must not depend on what ran before
            "UPDATE mysql.engine_cost SET cost_value = 0.25 WHERE cost_name IN ('io_block_read_cost', 'memory_block_read_cost');\n"
        )
        os.chown(first, secret_file.stat().st_uid, secret_file.stat().st_gid)
        once = ["--initialize-insecure", f"--init-file={first}", f"--tmpdir={first.parent}"]
        return [*mysqld(binaries, data), *settings(), *once]

    def serve(binaries: Path, data: Path, sockets: Path) -> list[str]:
        files = {"socket": SOCKET, "pid-file": "mysqld.pid", "tmpdir": ""}
        return [*mysqld(binaries, data), *settings(), *(f"--{key}={sockets / name}" for key, name in files.items())]

    def is_ready(sockets: Path, secret: str) -> bool:
        import pymysql

        if not (sockets / SOCKET).exists():
            return False
        try:
            options = {"unix_socket": str(sockets / SOCKET), "user": OWNER, "password": secret, "ssl_disabled": True}
            pymysql.connect(**options, connect_timeout=5, read_timeout=5).close()
        except pymysql.Error:  # still starting up
            return False
        return True

    return server.Recipe(
        engine="mysql",
        folder=folder(),
        roots=(root,) if root else (),
        initialise=initialise,
        serve=serve,
        is_ready=is_ready,
        memory=MEMORY,
    )


def folder() -> Path:
    return paths.cache_dir("engines", "mysql")
