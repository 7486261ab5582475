"""Runs a command as a systemd unit would shut it off, as far as that goes without systemd.

    under_unit.py UNIT COMMAND [ARGUMENT...]

Of UNIT it takes SystemCallFilter, SystemCallErrorNumber, RestrictAddressFamilies, MemoryDenyWriteExecute,
NoNewPrivileges, CapabilityBoundingSet and UMask, and runs the command as nobody. What the unit does with mounts
(ProtectSystem, PrivateTmp, ProtectHome ...) is left out. Needs root.
"""

import ctypes
import errno
import os
import socket
import subprocess
import sys

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
ALLOW = 0x7FFF0000
MASKED_EQ, EQ = 7, 4
PROT_WRITE, PROT_EXEC = 2, 4
NOBODY = 65534


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def settings(path):
    """The unit's keys, each with its values in order."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line and line[0] not in "#;[" and "=" in line:
                key, value = line.split("=", 1)
                found.setdefault(key, []).append(value)
    return found


def calls_of(name, known):
    """The system calls behind a name, which may be a group's."""
    if not name.startswith("@"):
        return {name}
    if name not in known:
        text = subprocess.run(
            ["systemd-analyze", "--no-pager", "syscall-filter", name], check=True, capture_output=True, text=True
        ).stdout
        words = [line.strip() for line in text.splitlines()[1:]]
        known[name] = set().union(*(calls_of(word, known) for word in words if word and word[0] != "#"))
    return known[name]


def allowed(lines):
    known, calls = {"@default": calls_of("@default", {})}, set()
    calls |= known["@default"]
    for line in lines:
        names = line.lstrip("~").split()
        for name in names:
            calls = calls - calls_of(name, known) if line.startswith("~") else calls | calls_of(name, known)
    return calls


class Filter:
    def __init__(self, library, default):
        self.library = library
        self.context = ctypes.c_void_p(library.seccomp_init(default))

    def rule(self, action, name, *comparisons):
        number = self.library.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            return
        array = (Compare * len(comparisons))(*comparisons)
        result = self.library.seccomp_rule_add_array(self.context, action, number, len(comparisons), array)
        # (A call of another architecture has no place in the filter.)
        if result not in (0, -errno.EDOM, -errno.EINVAL):
            sys.exit(f"no rule for {name}: {os.strerror(-result)}")

    def load(self):
        result = self.library.seccomp_load(self.context)
        if result != 0:
            sys.exit(f"the kernel takes no filter: {os.strerror(-result)}")


def main():
    unit, command = settings(sys.argv[1]), sys.argv[2:]
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_load.argtypes = [ctypes.c_void_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
    refusal = 0x00050000 | getattr(errno, unit["SystemCallErrorNumber"][0])
    calls = allowed(unit["SystemCallFilter"])

    if unit["CapabilityBoundingSet"] != [""] or unit["NoNewPrivileges"] != ["yes"]:
        sys.exit("the unit keeps privileges")
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.umask(int(unit["UMask"][0], 8))
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

    denied = Filter(library, ALLOW)
    families = {getattr(socket, name) for name in unit["RestrictAddressFamilies"][0].split()}
    for family in range(64):
        if family not in families:
            denied.rule(0x00050000 | errno.EAFNOSUPPORT, "socket", Compare(0, EQ, family, 0))
    if unit["MemoryDenyWriteExecute"] == ["yes"]:
        both = PROT_WRITE | PROT_EXEC
        denied.rule(0x00050000 | errno.EPERM, "mmap", Compare(2, MASKED_EQ, both, both))
        for name in ("mprotect", "pkey_mprotect"):
            denied.rule(0x00050000 | errno.EPERM, name, Compare(2, MASKED_EQ, PROT_EXEC, PROT_EXEC))
    granted = Filter(library, refusal)
    for name in sorted(calls | {"execve"}):
        granted.rule(ALLOW, name)
    denied.load()
    granted.load()
    os.execv(command[0], command)


main()
