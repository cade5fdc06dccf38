"""What `paper/reproduce.py` is made of: data, methods, runs in processes of their own, and the report."""
