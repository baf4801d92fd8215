"""PyTorch's structured trace: heard live and read afterwards; what a program is heard compiling."""
