"""The process that has one ClickHouse data folder open for its owner, to fill and read it; no SQL of others comes here.

Run by path with one argument, JSON: `site` (where the package chdb lies) and folder. In: ["run", sql], ["read", sql],
or ["insert", sql] followed by Arrow stream bytes and an empty message. Out: ["data", bytes] for what is read, then
["done", error or None].
"""

import json
import marshal
import sys

options = json.loads(sys.argv[1])
sys.path.append(options["site"])
sys.modules |= {"pyarrow": None, "pandas": None}
import chdb

SETTINGS = (
    "SET output_format_arrow_string_as_string = 0, max_insert_threads = 1, allow_suspicious_low_cardinality_types = 1"
)


def send(*value: object) -> None:
    data = marshal.dumps(value)
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
    sys.stdout.buffer.flush()


def receive() -> object:
    header = sys.stdin.buffer.read(8)
    if not header:
        sys.exit()  # the parent is gone, whatever was being inserted
    return marshal.loads(sys.stdin.buffer.read(int.from_bytes(header, "little")))


def insert(connection, sql: str) -> None:
    error = inserter = None
    try:
        inserter = connection.send_insert(sql, "ArrowStream")
    except RuntimeError as failure:
        error = failure
    while data := receive():
        if error is None:
            try:
                inserter.append(data)
            except RuntimeError as failure:
                error = failure
    if error is not None:
        raise error
    inserter.finish()


def main() -> None:
    connection = chdb.connect(options["folder"])
    connection.query(SETTINGS)
    send("ready")
    while True:
        kind, sql = receive()
        if kind == "close":
            break
        try:
            if kind == "insert":
                insert(connection, sql)
            elif kind == "read":
                stream = connection.send_query(sql, "ArrowStream")
                while (part := stream.fetch()) is not None and (chunk := part.bytes()):
                    send("data", chunk)
            else:
                connection.query(sql)
        except (chdb.ChdbError, RuntimeError) as error:
            send("done", str(error))
            connection.close()  # what a failed query has written would stand before the next result
            connection = chdb.connect(options["folder"])
            connection.query(SETTINGS)
        else:
            send("done", None)
    connection.close()
    send("closed")


if __name__ == "__main__":
    main()
