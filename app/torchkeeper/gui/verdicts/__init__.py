"""What is of use here: the environments, and the verdicts about them."""
