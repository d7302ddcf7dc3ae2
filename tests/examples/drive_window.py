"""
Runs a program with a window, and does at its command what a person would do there.

    python drive_window.py PROGRAM ARGUMENTS…

What comes into the window is written to stdout: new text as it stands, and the questions as ``[label] [button] …``.
Commands are lines on stdin: ``type TEXT``, ``press BUTTON``, ``shown`` (is answered by itself once all is on the
screen), and the end of the input, which closes the window.
"""

from __future__ import annotations

import os
import runpy
import sys
import tkinter as tk

make = tk.Tk.__init__


def under(widget, kind):
    return [
        each for child in widget.winfo_children() for each in (child, *under(child, tk.Misc)) if isinstance(each, kind)
    ]


class Driver:
    def __init__(self, root):
        self.root = root
        self.written = 0
        self.asked = ""
        root.bind_class("Text", "<<Modified>>", self.modified)
        root.bind_all("<Map>", self.mapped)
        root.createfilehandler(0, tk.READABLE, self.command)

    def modified(self, event):
        if event.widget.edit_modified():
            event.widget.edit_modified(False)
            text = event.widget.get("1.0", "end-1c")
            print(text[self.written :], end="", flush=True)
            self.written = len(text)

    def mapped(self, event):
        asked = " ".join(f"[{each.cget('text')}]" for each in under(self.root, (tk.Label, tk.Button)))
        if asked != self.asked:
            self.asked = asked
            print(asked, flush=True)

    def command(self, *_):
        for line in os.read(0, 65536).decode().splitlines() or ["close"]:
            word, _, text = line.partition(" ")
            getattr(self, word)(text)

    def type(self, text):
        (entry,) = under(self.root, tk.Entry)
        entry.focus_force()
        entry.insert("end", text)
        self.root.update()
        entry.event_generate("<Return>")

    def press(self, text):
        (button,) = (each for each in under(self.root, tk.Button) if each.cget("text") == text)
        self.root.update()  # a window that was just put there is shown when the server says so
        assert button.winfo_viewable()
        assert button.winfo_rooty() + button.winfo_height() <= self.root.winfo_screenheight(), "below the screen"
        button.invoke()

    def shown(self, _):
        for _ in range(2):
            self.root.update()
            self.root.winfo_pointerx()  # is answered after the server has drawn all that was asked for before
        print("shown", flush=True)

    def close(self, _):
        self.root.deletefilehandler(0)
        self.root.destroy()


def watched(root, *args, **options):
    make(root, *args, **options)
    Driver(root)


tk.Tk.__init__ = watched
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
