"""The commands of ``toolexec permissions``."""

from executor_permissions.commands._grants import grants_group
from executor_permissions.commands._ledger import log_command, replay_command
from executor_permissions.commands._policy import group

for _command in (grants_group, log_command, replay_command):
    group.add_command(_command)

__all__ = ["group"]
