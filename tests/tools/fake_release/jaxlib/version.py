"""The version of the made-up release."""
import os

# The folder is named jaxlib-VERSION.
__version__ = os.path.basename(os.path.dirname(os.path.dirname(__file__))).partition("-")[2]
