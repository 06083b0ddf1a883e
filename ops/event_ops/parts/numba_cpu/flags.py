"""Compiler flags shared by the catalog's kernels."""

# Sums may be reordered and contracted, which is what lets a reduction vectorise. `nnan` and `ninf` stay out:
# with them LLVM may assume that no NaN or infinity occurs, and the operators promise to carry both through.
REORDER = {"contract", "reassoc", "nsz", "arcp"}
