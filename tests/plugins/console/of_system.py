"""``toolexec`` on a machine where one more folder is the system's."""

import os

from executor import systempath
from executor.__main__ import main

systempath._OF_SYSTEM |= {os.environ["OF_SYSTEM"]}
main()
