"""Control flow in native code.

A region is a function of its own over the caller's arena; a loop's carries alternate between two buffers, and
nothing is allocated per step (`regions`). Where all values are tiny, the whole loop is scalar code with its
carries in registers (`register_loops`). The gradient of a while keeps its steps on a growing stack
(`loop_records`, decision 0005). Long loops poll for signals and leave by exits (`exits`).
"""
