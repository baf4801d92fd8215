"""What is kept from one start to the next, in small files of the user's."""
