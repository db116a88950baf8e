"""What is shown of Verbatim on real engines; ../evidence runs it."""
