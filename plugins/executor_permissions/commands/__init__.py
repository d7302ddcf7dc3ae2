"""The commands of ``toolexec permissions``."""

from executor_permissions.commands._explain import explain_command
from executor_permissions.commands._grants import grants_group
from executor_permissions.commands._ledger import log_command, replay_command
from executor_permissions.commands._policy import group
from executor_permissions.commands._session import session_group
from executor_permissions.commands._start import import_command, init_command

for _command in (
    explain_command,
    grants_group,
    import_command,
    init_command,
    log_command,
    replay_command,
    session_group,
):
    group.add_command(_command)

__all__ = ["group"]
