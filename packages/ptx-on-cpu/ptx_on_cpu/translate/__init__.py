"""Translate a PTX function into LLVM's text."""
