"""A whole Function as one native module.

`writer` writes ``@main(inputs, outputs)``, which calls the kernels; `body` writes the instructions of a
function and of its regions, and `parts` has what the functions of a module share. `buffers` decides where
each value lies: results take over the memory of operands that die, large ones may lie in the array of a later
result, the rest is packed into an arena (`arena`), with the workspaces that kernels ask for. `donation` says
which parameters a result may overwrite. Equal kernels are written once (`deduplication`). `recovery`
simplifies what the compiler fails on: a fusion is taken apart, an instruction runs on the host, at last the
whole Function. `single_gemm` has functions that are one product, whose code exists already. `costs` counts
flops and bytes.
"""
