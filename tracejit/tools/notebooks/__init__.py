"""HTML of tensors, explanations, profiles and stages for notebooks, without scripts and in the page's own
colours. The classes' ``_repr_html_`` load these modules when a notebook asks."""
