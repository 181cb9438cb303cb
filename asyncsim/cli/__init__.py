"""The command line. Each command is a module of ``commands``, imported when it is called."""
