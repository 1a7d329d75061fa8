"""What reads answer, by the law: the content of each follows from the history of the run."""
