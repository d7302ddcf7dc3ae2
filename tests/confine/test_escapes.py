"""Everything that a command may try, tried in every box, as whoever runs the suite and as an ordinary user."""

from __future__ import annotations

import signal

import pytest

WORK = {"read": set(), "project": set(), "network": {"tcp", "tcp_fast_open", "mptcp"}}


@pytest.mark.parametrize("name", ["read", "project", "network"])
def test_nothing_that_is_tried_works(world, listening, victim, inherited, attacks, landlock, bubblewrap, name):
    kept = [world.home, world.outside, world.project]
    before = world.state(*kept)
    ended = attacks(world.profile(name))
    worked = {attack for attack, how in ended.items() if how.startswith("done")}
    assert worked <= WORK[name], {attack: ended[attack] for attack in worked}
    after = world.state(*kept)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert not changed
    allowed = {"tcp", "udp"} if name == "network" else set()
    assert set(world.heard) <= allowed
    assert "SECRET" not in str(ended)
    assert victim.poll() is None


def test_without_a_box_the_attacks_work(world, listening, victim, inherited, attacks):
    needs_more = {  # than an ordinary user, a usual kernel or the order of the attacks gives
        "memfd_program", "vsock", "mptcp", "keyring", "user_namespace", "mount", "unmount", "change_root",
        "other_architecture", "x32", "type_into_the_terminal", "udp", "stream_pair_connected_anew", "owner",
        "extended_attribute", "flags_of_a_file", "ring", "another_box_of_the_system", "trace_another",
        "memory_of_another", "descriptor_of_another", "read_environment_of_parent", "tcp_fast_open", "mode_of_hidden",
        "signal_outside", "inherited_descriptor", "inherited_folder", "out_of_any_folder_that_was_inherited",
        "kernel_settings", "control_groups", "scheduled", "device", "signal_by_input", "raw_internet",
        "new_mounts", "message_to_a_socket", "files_in_user_space",
    }  # fmt: skip
    ended = attacks(world.profile("open"))
    failed = {attack: how for attack, how in ended.items() if not how.startswith("done") and attack not in needs_more}
    assert not failed, "\n".join(map(str, failed.items()))
    assert victim.wait(30) == -signal.SIGKILL
    assert {"tcp", "udp", "docker", "bus", "log", "giver"} <= set(world.heard)
