"""The documentation site: pages collected and generated, built by Sphinx, checked (decision 0029).

``build.py`` does all of it: ``sources.py`` copies the documents and points their links into the site;
``reference.py`` writes the pages of the API; ``gallery.py`` runs the examples, ``draw.py`` draws;
``conf.py`` is Sphinx's configuration; ``links.py`` follows every link of what comes out, ``spelling.py``
reads the documents.
"""
