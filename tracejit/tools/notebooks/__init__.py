"""What notebooks show of tensors, explanations, profiles and stages: HTML without scripts, in the page's own
colours. The classes' ``_repr_html_`` load these modules when a notebook asks."""
