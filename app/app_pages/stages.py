"""What each stage means, whose it is, and the colour that it has everywhere."""

from investigation.address import Address
from investigation.page import page_header, stop_if_empty
from investigation.store import store_file
from investigation.tables import stage_tables

file = store_file()
page_header("Stages", purpose="Where time can go, whose it is, and the colour that it has in every chart.")
stop_if_empty(file)
Address("stages", ()).stop_if_refused()
stage_tables(file)
