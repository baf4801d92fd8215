"""Where compile jobs run: this machine, others over ssh, a Ray cluster, Slurm."""
