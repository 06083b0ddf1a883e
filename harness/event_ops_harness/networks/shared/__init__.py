"""What the networks share: options of a command, processes, progress, rivals in processes of their own."""
