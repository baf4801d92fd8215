"""Words for what goes wrong with Redis servers."""

from torchkeeper.client.words.catalogue.words import Forms, Words

WORDS: dict[str, Words] = {
    # Redis servers
    "address-wrong": Words(
        "This is not the address of a Redis server.",
        "{why}.",
        "Write redis://host:6379/0, rediss://host:6380/0 for TLS, or unix:///path/to/socket.",
    ),
    "redis-missing": Words(
        "Redis servers cannot be reached from here.",
        "The Python package hiredis is not installed.",
        "Install it beside Torchkeeper: pip install hiredis.",
    ),
    "server-unknown-host": Words(
        "There is no host {host}.",
        "The name servers of this machine do not know it.",
        "Check the address.",
    ),
    "server-refused": Words(
        "{server} does not answer.",
        "The host is there, but nothing listens on that port.",
        "Check the port, and that the server runs.",
    ),
    "server-unreachable": Words(
        "{server} cannot be reached.", "{why}.", "Check the network and the address."
    ),
    "server-timeout": Words(
        "{server} does not answer in time.",
        "It is busy, hangs, or a firewall swallows the connection.",
        "Try again later, or check the address.",
    ),
    "socket-missing": Words(
        "There is no socket {path}.",
        "The server does not run, or has its socket elsewhere.",
        "Check “unixsocket” in the server's configuration.",
    ),
    "socket-forbidden": Words(
        "You may not use the socket {path}.",
        "It belongs to another user or group.",
        "Ask for membership in its group, or use TCP.",
    ),
    "certificate-expired": Words(
        "The certificate of {server} is not valid today.",
        "It has expired, or this machine's clock is wrong.",
        "Ask for a new certificate on the server.",
    ),
    "certificate-wrong-host": Words(
        "The certificate of {server} is for another host than {host}.",
        remedy="Use the name that the certificate has, if you are sure that it is the same server.",
    ),
    "certificate-untrusted": Words(
        "The certificate of {server} is not trusted.",
        "The check said: {why}.",
        "Name the CA that signed it: ?ssl_ca_certs=/path/ca.crt.",
    ),
    "certificate-file": Words(
        "The certificate file {file} cannot be used.",
        "{why}.",
        "Check the path, and that key and certificate belong together. The key must have no "
        "passphrase.",
    ),
    "client-certificate-needed": Words(
        "{server} wants a certificate from you.",
        "It ended the connection: {why}.",
        "Name yours: ?ssl_certfile=/path/client.crt&ssl_keyfile=/path/client.key.",
    ),
    "client-certificate-refused": Words(
        "{server} does not accept your certificate.",
        "It ended the connection: {why}.",
        "Use a certificate that is not expired, from a CA that the server trusts.",
    ),
    "tls-failed": Words(
        "No secure connection to {server} could be made.", "{why}.", "Check its TLS settings."
    ),
    "server-no-tls": Words(
        "{server} does not speak TLS.",
        "It answers to plain Redis on that port.",
        "Write redis:// instead of rediss://, or give its TLS port.",
    ),
    "server-wants-tls": Words(
        "{server} speaks only TLS.",
        "It did not understand a plain connection.",
        "Write rediss:// instead of redis://.",
    ),
    "server-not-redis": Words(
        "{server} does not answer like a Redis.",
        "Something else may listen on that port.",
        "Check host and port.",
    ),
    "server-unbounded": Words(
        "{server} sends an answer that is too long.",
        "Its answer holds a line, a text or a list that is longer than any Redis sends.",
        "Check host and port: the program there is broken or malicious.",
    ),
    "server-endless": Words(
        "The list of keys of {server} never ends.",
        "It repeats the same keys without end, so its contents are not known.",
        "Check host and port: the program there is broken or malicious.",
    ),
    "server-lost": Words(
        "The connection to {server} was lost.",
        "The server ended, or the network broke.",
        "What is done stays. Try again when the server is back.",
    ),
    "server-broke-off": Words(
        "The connection to {server} was lost before all was copied.",
        Forms(
            "{arrived} of {total} entries is known to be in {place}; the server did not come back "
            "in time.",
            "{arrived} of {total} entries are known to be in {place}; the server did not come back "
            "in time.",
            "arrived",
        ),
        "What has arrived stays. When the server is back, run the same copy again: it goes on.",
    ),
    "server-broke-off-bundle": Words(
        "The connection to {server} was lost before all was copied.",
        "The server did not come back in time. Nothing was written to {file}, because a bundle is "
        "written as a whole.",
        "Try again when the server is back.",
    ),
    "password-needed": Words(
        "{server} wants a password.",
        remedy="Give the password, and the user if there is one. A script sets "
        "TORCHKEEPER_REDIS_PASSWORD.",
    ),
    "password-wrong": Words(
        "{server} does not accept this user and password.", remedy="Check both; case matters."
    ),
    "password-unneeded": Words(
        "{server} has no password, and refuses one.",
        "PyTorch fails there, too, without a message.",
        "Leave the password out.",
    ),
    "database-out-of-range": Words(
        "{server} has no database with this number.",
        "Servers have 16 by default, from 0.",
        "Check the number at the end of the address.",
    ),
    "server-cluster": Words(
        "{server} is a part of a cluster.",
        "Each server of it holds some of the keys. PyTorch cannot use a cluster either.",
        "Use a single server.",
    ),
    "server-loading": Words(
        "{server} is still loading its data.", "It was just started.", "Try again in a moment."
    ),
    "server-stale": Words(
        "{server}, a replica, has lost its main server.",
        "It does not answer until it is connected again.",
        "Wait, or use the other server.",
    ),
    "server-full": Words(
        "{server} takes no more connections.",
        "Its “maxclients” is reached.",
        "Close some, or raise the limit.",
    ),
    "server-protected": Words(
        "{server} answers only to its own machine.",
        "It is in protected mode, because it has no password.",
        "Set a password on the server.",
    ),
    "server-forbids": Words(
        "{server} does not allow this user to do that.",
        "It said: {why}",
        "Ask for the permission, or use another user.",
    ),
    "server-read-only": Words(
        "{server} takes no changes.",
        "It is a replica of another server.",
        "Use its main server.",
    ),
    "server-out-of-memory": Words(
        "{server} has no memory left.",
        "Its “maxmemory” is reached, and its policy evicts nothing.",
        "Purge something there, or raise the limit.",
    ),
    "server-cannot-save": Words(
        "{server} takes no changes.", "It cannot save them: {why}", "Check its disk."
    ),
    "server-busy": Words(
        "{server} is busy with a script.", "It said: {why}", "Try again in a moment."
    ),
    "server-error": Words("{server} reported an error.", "It said: {why}"),
    "use-unknown": Words(
        "{server} cannot tell when entries were last used.",
        "Before version 7.2, looking counts as a use; with an lfu policy, it only counts uses.",
        "Leave “used” out of the filter, or set an expiry instead.",
    ),
    "times-of-servers": Words(
        "{place} does not know when entries are used or expire.",
        "Only a Redis server knows that.",
        "Filter by age instead: age>30d.",
    ),
    "owner-unknown": Words(
        "{place} does not record the owners of its entries.",
        "Only a folder does. is:foreign and owner: are about the users of this machine.",
        "Leave them out of the filter.",
    ),
    "age-unknown": Words(
        "{place} does not know how old entries are.",
        "Only a folder does: neither a Redis nor a bundle keeps the times of files.",
        "Leave “age” out of the filter. For a Redis, use used>90d or expires<7d instead.",
    ),
    "value-wrong-type": Words(
        "The value is not a string.",
        "Another program than PyTorch wrote it: a list, a set or the like.",
        "Purge it: PyTorch cannot use it.",
    ),
    "value-forbidden": Words(
        "This user may not read the value.",
        "The server does not let this user read its key.",
        "Ask for the permission, or use another user.",
    ),
    "value-not-json": Words(
        "The value is not JSON.", "It is damaged, or not PyTorch's.", "Purge it."
    ),
    "value-without-data": Words(
        "The value holds no payload.", "It is JSON, but PyTorch did not write it.", "Purge it."
    ),
    "value-not-base64": Words(
        "The payload in the value cannot be decoded.", "It is damaged base64.", "Purge it."
    ),
    "value-too-large": Words(
        "The value is too large.",
        "A Redis holds at most 512 MB in a value, or less if it is set so.",
        "Copy it to a folder.",
    ),
    "redis-only": Words(
        "Only a Redis can hold it.", "Its key does not name a file in a folder.", ""
    ),
    "kind-not-in-redis": Words(
        "A Redis cannot hold it.",
        "There PyTorch looks only for graphs, AOTAutograd entries and profiles, and Triton for its "
        "kernels. PyTorch looks for eager kernels in folders only.",
        "Export it to a bundle.",
    ),
    "ttl-wrong": Words(
        "{ttl} seconds is not a valid expiry.",
        "It must be above zero, and at most a hundred years.",
        "Give seconds, or clear the expiry: then entries stay.",
    ),
}
