"""Calls on workers, and those that go on as tasks."""
