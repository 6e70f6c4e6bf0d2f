"""Runs pip, except that a source distribution's name and version are read from its PKG-INFO.

`pip download` asks a source distribution for its metadata by running its build backend, which is
code of the package and needs the backend's own dependencies. Fetching needs neither.
"""

import email
import os
import sys
import tempfile

from pip._internal.cli.main import main
from pip._internal.distributions.sdist import SourceDistribution


def read_metadata(self, *_arguments, **_options):
    with open(
        os.path.join(self.req.unpacked_source_directory, "PKG-INFO"), encoding="utf-8"
    ) as file:
        fields = email.message_from_file(file)
    # pip takes the name and version from the folder's name, so dashes would be taken apart.
    name = fields["Name"].replace("-", "_")
    folder = os.path.join(tempfile.mkdtemp(), f"{name}-{fields['Version']}.dist-info")
    os.mkdir(folder)
    with open(os.path.join(folder, "METADATA"), "w", encoding="utf-8") as file:
        file.write(f"Metadata-Version: 2.1\nName: {fields['Name']}\nVersion: {fields['Version']}\n")
    self.req.metadata_directory = folder


# Fails here, before anything is fetched, if pip does it differently one day.
assert callable(SourceDistribution.prepare_distribution_metadata)
SourceDistribution.prepare_distribution_metadata = read_metadata
sys.exit(main(sys.argv[1:]))
