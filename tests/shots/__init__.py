"""Pictures of every state of the window and of its dialogs, over made-up engines."""
