"""Kernels other than fused loop nests, by family.

A family declares what the rest of codegen asks of it in one record, beside its kernels; `lowering` collects
the records by the kinds of ops that they serve. `parallel_for` cuts work into tasks that threads share.
"""
