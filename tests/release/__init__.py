"""What a release has to be: built, read on an index page, installed where nothing is, used as a stranger would."""
