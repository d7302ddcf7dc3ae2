"""
Judging: what a policy says about a call, from the tool's name and its arguments alone.

The order of the work for ``runCommand`` with ``cd src && sudo git push -f > log``:

1. `_judge` finds the rules about the tool: those to deny, to ask and to allow. `_judge_call` compares the arguments
   that are no commands with them (``writeFile(path=src/**)``), and keeps the policy's own files from every tool.
2. `_shell_calls` takes the command out of the arguments. `_shell_again` answers at once for one that it has seen.
3. `bash` parses it: the simple commands (``cd src``, ``sudo git push -f``), and the folders that each may run in.
4. `runs` finds what each runs in turn: ``sudo git push -f`` runs ``git push -f``.
5. `_shell_rules` compares all of these with the rules, which are made ready in `rules`. `files` and `git` find the
   files that they read, write or show, `_shell_opened` those of redirections (``> log``), and `paths` where their
   paths lead.
6. `_shell_cover` says whether a rule to allow covers a command. `options` are the tables that it rests on: which
   options and operands of a program a ``*`` may stand for.
7. `_judge` makes one decision of all parts: deny before ask before allow. `boxes` says which box the command runs in.
"""
